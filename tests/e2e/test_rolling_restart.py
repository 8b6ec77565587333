"""Three brokers with SASL/SCRAM over TLS, restarted in turn while clients write: nothing is lost or doubled."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.http_request import request
from pipeline.bus.bus_factory import prepare_topics
from pipeline.bus.kafka.cluster import Cluster
from pipeline.settings import Settings
from tests.support.kafka_deployment import KafkaDeployment, running_deployment
from tests.support.polling import poll_until
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tools.kafka_cluster import BROKERS, SecuredCluster, run_secured_cluster
from tools.kafka_installation import KafkaUnavailableHereError

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
WRITERS = 4
WRITES_BETWEEN_RESTARTS = 4
"""Documents that are acknowledged while a broker is away, and again before the next one stops."""
PACE_SECONDS = 1.0
"""Between two documents of a writer: the journal, which has them all, is read anew with each."""
REPEAT_SECONDS = 0.5
NAMESPACE = "restarted"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SecuredCluster]:
    try:
        with run_secured_cluster() as running:
            yield running
    except KafkaUnavailableHereError as error:
        pytest.skip(f"needs a real Apache Kafka: {error}")


class Writer:
    """A client that adds documents, each also as a line and a key of a document that all writers change."""

    def __init__(self, deployment: KafkaDeployment, number: int, ended: threading.Event) -> None:
        self._deployment = deployment
        self._number = number
        self._ended = ended
        self.acknowledged: list[str] = []
        """Names of what was added."""

    def run(self) -> None:
        """Write until the end, each time to the other process."""
        while not self._ended.wait(PACE_SECONDS):
            name = f"w{self._number}x{len(self.acknowledged)}"
            api = len(self.acknowledged) % len(self._deployment.api)
            self._write(api, "POST", "", {"id": name, "content": f"The note {name} is kept."})
            self._write(api, "POST", "", {"id": "journal", "content": f"Line {name}."})
            self._write(api, "PATCH", "/journal", {"metadata": {name: self._number}})
            self.acknowledged.append(name)

    def _write(self, api: int, method: str, path: str, body: Any) -> None:
        """Repeat the same request while it is refused."""
        place = f"/ns/{NAMESPACE}/document{path}"
        while True:
            server = self._deployment.api[api]
            answer = request(server.url, server.key, method, place, json=body, timeout=WAIT_TIMEOUT_SECONDS)
            if answer.is_success:
                return
            assert answer.status_code == 503, answer.text
            assert "retry-after" in answer.headers
            threading.Event().wait(REPEAT_SECONDS)


def read(deployment: KafkaDeployment, api: int, method: str, path: str, body: Any = None) -> Any:
    """The answer of an API process, which has to succeed."""
    status, answer = deployment.request(api, method, f"/ns/{NAMESPACE}{path}", body)
    assert status == httpx2.codes.OK, answer
    return answer


def wait_until_done(deployment: KafkaDeployment, api: int, document: str) -> Any:
    """The document when it can be found, as this process shows it."""
    return poll_until(
        lambda: read(deployment, api, "GET", f"/document/{document}"),
        lambda shown: shown["system"]["status"] == "done",
        f"{document} done",
    )


async def count_missing_replicas(settings: Settings) -> int:
    """Count the replicas, of every partition, that are not in sync."""
    kafka = Cluster(settings)
    try:
        topics = await kafka.call_with_retries("list topics", (await kafka.admin()).describe_topics)
    finally:
        await kafka.close()
    return sum(len(part["replicas"]) - len(part["isr"]) for topic in topics for part in topic["partitions"])


def test_a_rolling_restart_of_all_brokers_loses_and_doubles_nothing(
    cluster: SecuredCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = cluster.service_settings()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = Settings(data_dir=tmp_path, kafka_bootstrap=cluster.bootstrap, log_partitions=4)
    with running_deployment(tmp_path, cluster.bootstrap, **{**variables, "RECOLLECT_EMBEDDER": "none"}) as deployment:
        assert not asyncio.run(prepare_topics(settings, create=False))
        processes = [*deployment.api, *deployment.pipeline]
        started = [process.pid for process in processes]
        ended = threading.Event()
        writers = [Writer(deployment, number, ended) for number in range(WRITERS)]

        def acknowledged() -> list[str]:
            return [name for writer in writers for name in writer.acknowledged]

        def wait_for_writes() -> None:
            enough = len(acknowledged()) + WRITES_BETWEEN_RESTARTS
            poll_until(lambda: len(acknowledged()), lambda count: count >= enough, "writes go on")

        with ThreadPoolExecutor(WRITERS) as threads:
            running = [threads.submit(writer.run) for writer in writers]
            try:
                for broker in cluster.brokers:
                    wait_for_writes()
                    broker.stop()
                    wait_for_writes()
                    broker.start()
                    poll_until(
                        lambda: asyncio.run(count_missing_replicas(settings)),
                        lambda missing: missing == 0,
                        f"{BROKERS} replicas in sync",
                    )
                wait_for_writes()
            finally:
                ended.set()
            for writing in running:
                writing.result()
        names = set(acknowledged())
        for api in range(len(deployment.api)):
            assert_all_written(deployment, api, names)
        assert [process.pid for process in processes] == started
        for process in processes:
            assert request(process.url, process.key, "GET", "/health").is_success
            _, found, traceback = process.output.read_text(errors="replace").partition("Traceback")
            assert not found, traceback[:5000]


def assert_all_written(deployment: KafkaDeployment, api: int, names: set[str]) -> None:
    """Every document is done once, and the shared one has every line once and every key."""
    journal = wait_until_done(deployment, api, "journal")
    lines = journal["content"].split("\n\n")
    assert sorted(lines) == sorted(f"Line {name}." for name in names)
    assert journal["metadata"].keys() == names
    contents = {name: wait_until_done(deployment, api, name)["content"] for name in names}
    assert contents == {name: f"The note {name} is kept." for name in names}
    listed = read(deployment, api, "POST", "/list/documents?limit=1", {})
    assert listed["pagination"]["totalItems"] == len(names) + 1
