"""The service in several processes on Kafka: two that answer, two that work."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet
from supermemory import Supermemory

from bench.http_request import request
from bench.service_process import Server
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

SESSION_TIMEOUT_SECONDS = "6"
"""Kafka reassigns the partitions of a killed process after this."""


class KafkaDeployment:
    """Processes that share a data directory and a key. Tests may stop and kill `api` and `pipeline`."""

    def __init__(self, folder: Path, bootstrap: str, **further: str) -> None:
        settings = {
            "RECOLLECT_KAFKA_BOOTSTRAP": bootstrap,
            "RECOLLECT_LOG_PARTITIONS": "4",
            "RECOLLECT_KAFKA_SESSION_TIMEOUT_SECONDS": SESSION_TIMEOUT_SECONDS,
            "RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "0.5",
            "RECOLLECT_EMBEDDER": "wordllama",
            "RECOLLECT_SHARDS": "2",
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
            **further,
        }
        self.key = f"rk_{secrets.token_hex(16)}"

        def server(only: str) -> Server:
            return Server(folder / "data", settings, only=only, key=self.key)

        self.api = [server("api"), server("api")]
        self.pipeline = [server("pipeline"), server("pipeline")]

    def start(self) -> None:
        """All at once."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(Server.start, [*self.api, *self.pipeline]))

    def stop(self) -> None:
        """All at once."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(Server.stop, [*self.api, *self.pipeline]))

    @contextmanager
    def clients(self) -> Iterator[list[Supermemory]]:
        """The official client of each API process; it does not repeat calls, so a failure is seen."""
        with ExitStack() as open_clients:
            yield [
                open_clients.enter_context(
                    Supermemory(base_url=process.url, api_key=self.key, max_retries=0, timeout=WAIT_TIMEOUT_SECONDS)
                )
                for process in self.api
            ]

    def request(self, api: int, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Status and JSON of a request to one of the API processes."""
        url = self.api[api].url
        answer = request(url, key or self.key, method, path, json=body, timeout=WAIT_TIMEOUT_SECONDS)
        return answer.status_code, answer.json()


@contextmanager
def running_deployment(folder: Path, bootstrap: str, **further: str) -> Iterator[KafkaDeployment]:
    """Started, and stopped at the end. `further`: variables beside those of every deployment."""
    deployment = KafkaDeployment(folder, bootstrap, **further)
    try:
        deployment.start()
        yield deployment
    finally:
        deployment.stop()
