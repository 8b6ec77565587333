"""Broker, embedder and object store away: every kind of process lives, searches answer, and work resumes by itself."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.fernet import Fernet

from bench.chaos.embedding_endpoint import serve_endpoint
from bench.http_request import request
from bench.service_process import Server
from tests.support.interruptible_proxy import InterruptibleProxy
from tests.support.polling import poll_until
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tools.kafka_broker import DockerBroker, LocalBroker
from tools.s3_server import S3Server

pytestmark = pytest.mark.slow
REFUSALS = 5
"""Attempts to reach what is away before it comes back."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Running processes, of which the first answers, between proxies of what they depend on."""

    servers: list[Server]
    embedder: InterruptibleProxy
    object_store: InterruptibleProxy

    def ask(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        """The answer of the process that answers."""
        server = self.servers[0]
        return request(server.url, server.key, method, path, json=body, timeout=WAIT_TIMEOUT_SECONDS)

    def add(self, namespace: str, id_: str) -> httpx2.Response:
        """Add a document; success, or 503 with the time after which to repeat it."""
        answer = self.ask("POST", f"/ns/{namespace}/document", {"id": id_, "content": f"The note {id_} is kept."})
        assert answer.is_success or (answer.status_code == 503 and "retry-after" in answer.headers), answer.text
        return answer

    def finds(self, namespace: str, id_: str) -> bool:
        """Return whether a search for its words finds a document; every search has to be answered."""
        body = {"query": f"note {id_}", "searchMode": "chunks", "threshold": 0}
        answer = self.ask("POST", f"/ns/{namespace}/search", body)
        assert answer.is_success, answer.text
        return any(id_ in result["chunk"] for result in answer.json()["results"])

    def wait_until_done(self, namespace: str, id_: str) -> None:
        path = f"/ns/{namespace}/document/{id_}"
        poll_until(
            lambda: self.ask("GET", path),
            lambda answer: answer.is_success and answer.json()["system"]["status"] == "done",
            f"{id_} done",
        )

    def assert_unharmed(self) -> None:
        """Every process answers, and none has logged a traceback."""
        for server in self.servers:
            assert request(server.url, server.key, "GET", "/health").is_success
            _, found, traceback = server.output.read_text(errors="replace").partition("Traceback")
            assert not found, traceback[:5000]


@contextmanager
def run_deployment(folder: Path, s3: S3Server, parts: list[str | None], **settings: str) -> Iterator[Deployment]:
    """Processes with their tables and blobs at an object store and an embedder over HTTP."""
    with ExitStack() as stack:
        embedder = stack.enter_context(serve_endpoint())
        proxies = [InterruptibleProxy(_port_of(embedder.url)), InterruptibleProxy(_port_of(s3.endpoint))]
        for proxy in proxies:
            stack.callback(proxy.close)
        stored = {f"RECOLLECT_{name.upper()}": str(value) for name, value in s3.service_settings().items()}
        variables = {
            **embedder.settings(),
            **stored,
            "RECOLLECT_EMBEDDER_BASE_URL": f"http://127.0.0.1:{proxies[0].port}/v1",
            "RECOLLECT_STORAGE_ENDPOINT": f"http://127.0.0.1:{proxies[1].port}",
            "RECOLLECT_LOG_PARTITIONS": "4",
            "RECOLLECT_SHARDS": "1",
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
            **settings,
        }
        servers: list[Server] = []
        for part in parts:
            key = servers[0].key if servers else None
            servers.append(Server(folder / "data", variables, only=part, key=key))
            stack.callback(servers[-1].kill)
            servers[-1].start()
        yield Deployment(servers, *proxies)


def _port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


def survive(
    deployment: Deployment, namespace: str, away: AbstractContextManager[None], until_noticed: Callable[[], object]
) -> None:
    """Take something away: what was there is found meanwhile, and what was written then is done afterwards."""
    poll_until(lambda: deployment.add(namespace, "before"), lambda answer: answer.is_success, "the first document")
    deployment.wait_until_done(namespace, "before")
    poll_until(lambda: deployment.finds(namespace, "before"), bool, "the first document found")
    with away:
        acknowledged = deployment.add(namespace, "meanwhile").is_success
        assert deployment.finds(namespace, "before")
        until_noticed()
        assert deployment.finds(namespace, "before")
    if not acknowledged:
        poll_until(lambda: deployment.add(namespace, "meanwhile"), lambda answer: answer.is_success, "it is accepted")
    deployment.wait_until_done(namespace, "meanwhile")
    poll_until(lambda: deployment.finds(namespace, "meanwhile"), bool, "what was written meanwhile found")
    deployment.assert_unharmed()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory, s3: S3Server) -> Iterator[Deployment]:
    with run_deployment(tmp_path_factory.mktemp("embedded"), s3, [None]) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def on_kafka(
    tmp_path_factory: pytest.TempPathFactory, s3: S3Server, kafka: LocalBroker | DockerBroker
) -> Iterator[Deployment]:
    options = {"RECOLLECT_KAFKA_BOOTSTRAP": kafka.bootstrap, "RECOLLECT_KAFKA_SESSION_TIMEOUT_SECONDS": "6"}
    with run_deployment(tmp_path_factory.mktemp("kafka"), s3, ["api", "pipeline"], **options) as deployment:
        yield deployment


@pytest.mark.parametrize("what", ["embedder", "object_store"])
def test_one_process_survives(embedded: Deployment, what: str) -> None:
    proxy: InterruptibleProxy = getattr(embedded, what)
    survive(embedded, what, proxy.interrupted(), lambda: proxy.wait_for_refusals(REFUSALS))


@pytest.mark.kafka
@pytest.mark.parametrize("what", ["embedder", "object_store"])
def test_processes_of_each_kind_survive(on_kafka: Deployment, what: str) -> None:
    proxy: InterruptibleProxy = getattr(on_kafka, what)
    survive(on_kafka, what, proxy.interrupted(), lambda: proxy.wait_for_refusals(REFUSALS))


@pytest.mark.kafka
def test_processes_of_each_kind_survive_without_the_broker(
    on_kafka: Deployment, kafka: LocalBroker | DockerBroker
) -> None:
    @contextmanager
    def stopped() -> Iterator[None]:
        kafka.stop()
        try:
            yield
        finally:
            kafka.start()

    def until_refused() -> None:
        poll_until(lambda: on_kafka.add("broker", "refused"), lambda answer: answer.status_code == 503, "a refusal")
        assert on_kafka.ask("GET", "/ns/broker/document/before").headers["x-recollect-stale"] == "true"

    survive(on_kafka, "broker", stopped(), until_refused)
    assert "x-recollect-stale" not in on_kafka.ask("GET", "/ns/broker/document/before").headers
    for server in on_kafka.servers:
        logged = server.output.read_text(errors="replace")
        told = f"Kafka broker {kafka.bootstrap} "
        assert 1 <= logged.count(f"{told}can't be reached and") == logged.count(f"{told}answers again")
        assert "Unable connect" not in logged
