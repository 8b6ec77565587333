"""`recollect replay` as one types it, and kill -9 in the middle of it."""

import json
import os
import random
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from bench.processes import Deployment, start_processes
from bench.service_process import Server, run_command, unconfigured
from tests.support.polling import poll_until
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tools.kafka_broker import DockerBroker, LocalBroker


class ReplayClient:
    """A server with some documents, asked over HTTP."""

    def __init__(self, server: Server) -> None:
        self.server = server
        headers = {"authorization": f"Bearer {server.key}"}
        self._http = httpx2.Client(base_url=server.url, headers=headers, timeout=WAIT_TIMEOUT_SECONDS)

    def close(self) -> None:
        self._http.close()

    def request_ok(self, method: str, path: str, body: object | None = None) -> dict[str, object]:
        response = self._http.request(method, path, json=body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        answer: dict[str, object] = response.json()
        return answer

    def fill(self, documents: int, namespace: str = "home") -> None:
        texts = [{"content": f"The note {n} says word{n}. " * 20, "id": f"d{n}"} for n in range(documents)]
        for begin in range(0, documents, 100):
            body = {"documents": texts[begin : begin + 100], "taskType": "superrag"}
            self.request_ok("POST", f"/ns/{namespace}/document/batch", body)
        poll_until(self.consumer_lag, lambda lag: lag == 0, "everything handled")

    def consumer_lag(self) -> int:
        lag = self.request_ok("GET", "/admin/status")["lag"]
        assert isinstance(lag, dict)
        return sum(lag.values())

    def wait_replay(self) -> str:
        """Run a replay; its final state."""
        self.request_ok("POST", "/admin/replay", {})
        return str(self.wait_end()["state"])

    def wait_end(self) -> dict[str, object]:
        """How the running replay ended."""
        ended = poll_until(
            lambda: self.request_ok("GET", "/admin/replay"),
            lambda progress: progress["state"] != "running",
            "the replay's end",
        )
        return {name: ended[name] for name in ("state", "error", "differences")}

    def search_results(self, namespace: str = "home") -> list[tuple[str, float]]:
        body = {"query": "word7", "threshold": 0, "limit": 100, "searchMode": "chunks"}
        results = self.request_ok("POST", f"/ns/{namespace}/search", body)["results"]
        assert isinstance(results, list)
        return [(result["id"], result["similarity"]) for result in results]

    def wait_found(self, results: list[tuple[str, float]]) -> None:
        """Wait until a search finds these: a process that loads its model answers by words alone meanwhile."""
        poll_until(self.search_results, lambda now: now == results, "the same found")


@pytest.fixture
def asked(own_server: Server) -> Iterator[ReplayClient]:
    """The server, started."""
    own_server.start()
    client = ReplayClient(own_server)
    yield client
    client.close()


def _replay_command(data_dir: Path, *words: str, extra: Mapping[str, str] | None = None) -> str:
    variables = unconfigured() | {"RECOLLECT_DATA_DIR": str(data_dir), **(extra or {})}
    return run_command(["replay", *words], data_dir.parent, variables)


def _generations(data_dir: Path) -> set[str]:
    return {path.name for path in (data_dir / "tables").glob("g*")}


def test_a_running_service_replays_when_it_is_asked_and_a_stopped_one_is_replayed_without_it(
    own_server: Server, asked: ReplayClient
) -> None:
    asked.fill(20)
    found = asked.search_results()
    key = {"RECOLLECT_API_KEY": own_server.key}
    assert "generation 0" in _replay_command(own_server.data_dir, "--dry-run", extra=key)
    assert "Generation 1 is served" in _replay_command(own_server.data_dir, extra=key)
    assert asked.search_results() == found
    own_server.stop()
    assert "Generation 2 is served" in _replay_command(own_server.data_dir, "--chunk-size", "200")
    own_server.start()
    assert asked.search_results() != found
    assert "Generation 1 is served" in _replay_command(own_server.data_dir, "--rollback", extra=key)
    assert asked.search_results() == found
    assert "Removed generation 2" in _replay_command(own_server.data_dir, "--clean-up", extra=key)


@pytest.mark.slow
def test_kill_9_in_the_middle_of_a_replay_leaves_what_was_served_and_nothing_else(
    own_server: Server, asked: ReplayClient
) -> None:
    asked.fill(600)
    found = asked.search_results()
    chance = random.Random(8)  # noqa: S311 - when to kill is no secret
    for _ in range(3):
        asked.request_ok("POST", "/admin/replay", {"chunkSize": 800})
        time.sleep(chance.uniform(0.0, 1.0))
        own_server.kill()
        own_server.start()
        pointer = own_server.data_dir / "tables" / "current"
        served = json.loads(pointer.read_text()) if pointer.exists() else None
        named = {f"g{version['number']}" for version in (served or {}).values() if version and version["number"]}
        assert _generations(own_server.data_dir) == named
        assert asked.search_results() == found
    assert asked.wait_replay() == "done"
    assert asked.search_results() == found


@contextmanager
def _on_kafka(folder: Path, workers: int, bootstrap: str) -> Iterator[tuple[Deployment, ReplayClient]]:
    """Processes, and a client of the one that answers."""
    with start_processes(folder, workers, bootstrap) as deployment:
        asked = ReplayClient(deployment.api)
        try:
            yield deployment, asked
        finally:
            asked.close()


@pytest.mark.kafka
def test_on_kafka_who_replays_may_be_killed_and_any_process_may_do_it(
    own_kafka: LocalBroker | DockerBroker, tmp_path: Path
) -> None:
    """The interface begins it and is killed, a worker goes on; then a command by itself, while a worker works."""
    with _on_kafka(tmp_path, 1, own_kafka.bootstrap) as (deployment, asked):
        api = deployment.api
        asked.fill(80)
        found = poll_until(asked.search_results, lambda now: len(now) == 80, "everything found")
        asked.request_ok("POST", "/admin/replay", {})
        poll_until((api.data_dir / "tables" / "replay.work").exists, bool, "the work published")
        api.kill()
        api.start()
        asked.wait_found(found)
        # The worker goes on with what the killed process began.
        assert asked.wait_end() == {"state": "done", "error": None, "differences": []}
        asked.wait_found(found)
        assert _generations(api.data_dir) == {"g1"}
        api.stop()
        assert "Generation 2 is served" in _replay_command(api.data_dir, extra=deployment.settings)
        api.start()
        asked.wait_found(found)
        asked.request_ok("POST", "/ns/home/document", {"content": "word7 once more", "taskType": "superrag"})
        poll_until(
            asked.search_results,
            lambda now: now != found,
            "the document found, made by who works on the new tables",
        )


@pytest.mark.kafka
@pytest.mark.slow
def test_on_kafka_a_worker_that_is_killed_while_it_fills_tables_is_replaced_by_another(
    own_kafka: LocalBroker | DockerBroker, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        deployment, asked = stack.enter_context(_on_kafka(tmp_path, 2, own_kafka.bootstrap))
        api = deployment.api
        for number in range(8):
            asked.fill(40, f"home{number}")
        found = poll_until(
            lambda: [asked.search_results(f"home{number}") for number in range(8)],
            lambda now: all(len(results) == 40 for results in now),
            "everything found",
        )
        asked.request_ok("POST", "/admin/replay", {})
        work = api.data_dir / "tables" / "replay.work"
        poll_until(lambda: work.exists() and work.stat().st_size > 0, bool, "the work published")
        # The process that started the replay stands still, so that the others have most to do.
        os.kill(api.pid, signal.SIGSTOP)
        stack.callback(os.kill, api.pid, signal.SIGCONT)
        workers = {worker.pid: worker for worker in deployment.workers}
        begun = poll_until(lambda: _begun_by(api.data_dir, workers), bool, "a worker filling tables")
        division, pid = begun[0]
        workers[pid].kill()
        os.kill(api.pid, signal.SIGCONT)
        assert asked.wait_end() == {"state": "done", "error": None, "differences": []}
        report = _division_reports(api.data_dir)[division]
        assert report["is_filled"]
        assert not str(report["worker"]).endswith(f"/{pid}")
        assert [asked.search_results(f"home{number}") for number in range(8)] == found


def _division_reports(data_dir: Path) -> dict[str, dict[str, object]]:
    """Reports of the divisions of a replay, by file name."""
    paths = (data_dir / "tables").glob("replay.division*")
    return {path.name: json.loads(path.read_text()) for path in paths if path.name[-1].isdigit()}


def _begun_by(data_dir: Path, pids: Collection[int]) -> list[tuple[str, int]]:
    """Divisions that these processes have begun and not filled."""
    begun = [
        (name, int(str(report["worker"]).rpartition("/")[2]))
        for name, report in _division_reports(data_dir).items()
        if not report["is_filled"]
    ]
    return [(name, pid) for name, pid in begun if pid in pids]
