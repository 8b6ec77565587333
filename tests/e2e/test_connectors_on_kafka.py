"""Connectors in processes of their own, on Kafka: one run at a time, whichever has it, and none is lost."""

import secrets
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from bench.http_request import request
from bench.service_process import Server
from tests.support.asgi_server import serve_app_in_thread
from tests.support.kafka_deployment import SESSION_TIMEOUT_SECONDS
from tests.support.polling import poll_until
from tests.support.providers.granola_double import GranolaDouble
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
NOTES = 35
KEY = "grn_good"


class ConnectorDeployment:
    """Start a process that answers, a process that works, and two for connectors."""

    def __init__(self, folder: Path, bootstrap: str, source: str) -> None:
        settings = {
            "RECOLLECT_KAFKA_BOOTSTRAP": bootstrap,
            "RECOLLECT_LOG_PARTITIONS": "2",
            "RECOLLECT_KAFKA_SESSION_TIMEOUT_SECONDS": SESSION_TIMEOUT_SECONDS,
            "RECOLLECT_SHARDS": "1",
            "RECOLLECT_EMBEDDER": "wordllama",
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
            "RECOLLECT_GRANOLA_URL": source,
        }
        key = f"rk_{secrets.token_hex(16)}"
        parts = ("api", "pipeline", "connectors", "connectors")
        self.all = [Server(folder / "data", settings, only=part, key=key) for part in parts]
        self.api, self.connectors = self.all[0], self.all[2:]

    def request_ok(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of a request that goes well."""
        answer = request(self.api.url, self.api.key, method, path, json=body, timeout=WAIT_TIMEOUT_SECONDS)
        assert answer.is_success, answer.text
        return answer.json()

    def count_documents(self) -> int:
        """The number of documents of alice."""
        listed = self.request_ok("POST", "/ns/alice/list/documents", {})
        total: int = listed["pagination"]["totalItems"]
        return total


@pytest.fixture
def double() -> GranolaDouble:
    granola = GranolaDouble()
    folder = granola.folder("Team")
    for number in range(NOTES):
        granola.note(f"Note {number}", f"The kettle number {number} is blue.", folders=[folder])
    return granola


@pytest.fixture
def parts(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker, double: GranolaDouble
) -> Iterator[ConnectorDeployment]:
    with serve_app_in_thread(double) as source:
        parts = ConnectorDeployment(tmp_path, own_kafka.bootstrap, source)
        try:
            with ThreadPoolExecutor() as threads:
                list(threads.map(Server.start, parts.all))
            yield parts
        finally:
            with ThreadPoolExecutor() as threads:
                list(threads.map(Server.stop, parts.all))


def test_a_run_is_done_once_and_survives_its_process(parts: ConnectorDeployment, double: GranolaDouble) -> None:
    created = parts.request_ok("POST", "/ns/alice/connectors", {"provider": "granola", "config": {"apiKey": KEY}})
    path = f"/ns/alice/connectors/{created['id']}"
    poll_until(lambda: _read_reports(double), lambda read: len(read) >= 10, "the first notes read")
    parts.connectors[0].kill()
    ended = poll_until(
        lambda: parts.request_ok("GET", f"{path}?include=syncs"),
        lambda shown: shown["latestRun"]["system"]["status"] != "running",
        "the end of the run",
    )
    assert (ended["latestRun"]["error"], ended["documentCount"]) == (None, NOTES)
    assert len(ended["syncs"]) == 1
    poll_until(parts.count_documents, lambda found: found == NOTES, "all documents")
    read = _read_reports(double)
    assert len(read) == NOTES
    assert sum(read.values()) <= 2 * NOTES, "only what came after a checkpoint was read again"
    parts.connectors[0].start()
    parts.request_ok("DELETE", path)
    poll_until(parts.count_documents, lambda found: found == 0, "no documents")
    double.assert_no_violations()


def _read_reports(double: GranolaDouble) -> Counter[str]:
    return Counter(call.path for call in double.calls if call.path.startswith("/v1/notes/"))
