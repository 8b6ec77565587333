"""kill -9 at random moments while clients write: what was answered 200 is there, once, and nothing else."""

import asyncio
import random
import threading
import time

import httpx2
import pytest
from supermemory import Supermemory

from bench.service_process import Server
from tests.support.polling import poll_until
from tests.support.random_writers import RandomWriter, StateReader, find_differences
from tests.support.table_invariants import find_violations

CLIENTS = 4
KILL_COUNT = 3
NAMESPACE = "survivors"
SECONDS = (0.3, 1.5)
PAUSE_SECONDS = 0.02
"""Between two documents of a client: each that was acknowledged is looked for afterwards."""


class AddingClient(threading.Thread):
    """Adds documents with words of their own, and remembers what was acknowledged."""

    def __init__(self, server: Server, number: int, stop: threading.Event) -> None:
        super().__init__(name=f"adder {number}")
        self.acknowledged: list[str] = []
        self.problem: str | None = None
        self._server = server
        self._number = number
        self._end = stop

    def run(self) -> None:
        headers = {"authorization": f"Bearer {self._server.key}"}
        with httpx2.Client(base_url=self._server.url, headers=headers, timeout=10.0) as client:
            count = 0
            while not self._end.is_set() and self.problem is None:
                count += 1
                self._add(client, f"word{self._number}x{count}")
                self._end.wait(PAUSE_SECONDS)

    def _add(self, client: httpx2.Client, word: str) -> None:
        content = f"The note that says {word} was written by client {self._number}."
        body = {"content": content, "id": word, "taskType": "superrag"}
        try:
            response = client.post(f"/ns/{NAMESPACE}/document", json=body)
        except httpx2.TransportError:
            self._end.wait(0.05)  # the server is dead for now; whether it has the document is open
            return
        if response.is_success:
            self.acknowledged.append(word)
        else:
            self.problem = f"{word}: {response.status_code} {response.text}"


def _add_while_killing(server: Server, chance: random.Random) -> list[str]:
    stop = threading.Event()
    adders = [AddingClient(server, number, stop) for number in range(CLIENTS)]
    for adder in adders:
        adder.start()
    try:
        for _ in range(KILL_COUNT):
            time.sleep(chance.uniform(*SECONDS))
            server.kill()
            server.start()
        time.sleep(0.3)
    finally:
        stop.set()
        for adder in adders:
            adder.join()
    assert [adder.problem for adder in adders if adder.problem] == []
    return [word for adder in adders for word in adder.acknowledged]


def _list_documents(client: Supermemory) -> list[tuple[str, str]]:
    listed, page, pages = [], 1, 1
    while page <= pages:
        answer = client.list(NAMESPACE, "documents", page=page, limit=100, order="asc")
        listed += [(document.id, document.system.status) for document in answer.documents]
        page, pages = page + 1, int(answer.pagination.total_pages)
    return listed


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_9_and_is_found_once(own_server: Server) -> None:
    own_server.start()
    acknowledged = _add_while_killing(own_server, random.Random(20))  # noqa: S311 - when to kill is no secret
    assert len(acknowledged) > CLIENTS
    own_server.kill()
    own_server.start()
    with Supermemory(base_url=own_server.url, api_key=own_server.key) as client:
        listed = poll_until(
            lambda: _list_documents(client),
            lambda rows: {status for _, status in rows} == {"done"},
            "all done",
        )
        names = [name for name, _ in listed]
        assert set(acknowledged) <= set(names), "an acknowledged document is lost"
        assert len(names) == len(set(names)), "a document is there twice"
        chunks = client.list(NAMESPACE, "chunks", limit=1).pagination.total_items
        assert chunks == len(names), "a chunk is lost or there twice"
        for word in acknowledged:
            found = client.search(NAMESPACE, query=word, search_mode="chunks", threshold=0, limit=3)
            hits = [result for result in found.results if f" {word} " in (result.chunk or "")]
            assert len(hits) == 1, f"{word} was found {len(hits)} times"


def _write_while_killing(server: Server, seed: int) -> list[RandomWriter]:
    """Clients that have stopped, and a server that was killed and started once more after them."""
    chance = random.Random(seed)  # noqa: S311 - when to kill is no secret
    stop = threading.Event()
    clients = [RandomWriter(server, number, seed, stop) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for _ in range(KILL_COUNT):
        time.sleep(chance.uniform(*SECONDS))
        server.kill()
        server.start()
    stop.set()
    for client in clients:
        client.join()
    server.kill()
    server.start()
    return clients


@pytest.mark.slow
def test_every_kind_of_write_survives_kill_9_and_leaves_nothing_behind(own_server: Server) -> None:
    own_server.start()
    clients = _write_while_killing(own_server, seed=14)
    assert [client.problem for client in clients if client.problem] == []
    with StateReader(own_server) as reader:
        poll_until(reader.consumer_lag, lambda lag: lag == 0, "everything handled")
        homes = [home for client in clients for home in client.namespaces]
        poll_until(
            lambda: [difference for home in homes for difference in find_differences(reader, home)],
            lambda wrong: not wrong,
            "all as it was acknowledged",
        )
        assert reader.request_ok("GET", "/admin/dlq")["deadLetters"] == []
    own_server.stop()
    assert asyncio.run(find_violations(own_server.data_dir.resolve())) == []
