"""Faults of several processes on Kafka: an API process, one that works, and the broker."""

import asyncio
import secrets
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aiokafka import AIOKafkaProducer
from cryptography.fernet import Fernet

from bench.chaos.embedded import NotHereError, Trial
from bench.chaos.trial import Outcome, Reader, TrialError, outcome, until, writing
from bench.server import Server
from schemas.topics import DOCUMENTS_SUBMITTED
from tools.kafka import Broker, Container, KafkaMissingError, broker

SETTINGS = {
    "RECOLLECT_KAFKA_PARTITIONS": "4",
    "RECOLLECT_KAFKA_SESSION_SECONDS": "6",
    "RECOLLECT_DREAMING_QUIET_SECONDS": "0.5",
    "RECOLLECT_SHARDS": "2",
}
UNAVAILABLE = 503


@dataclass(frozen=True, slots=True)
class Processes:
    """Two that answer and two that work, on one broker."""

    kafka: Broker | Container
    api: list[Server]
    pipeline: list[Server]

    @property
    def urls(self) -> list[str]:
        return [one.url for one in self.api]

    def reader(self) -> Reader:
        return Reader(self.api[1].url, self.api[1].key)


@contextmanager
def _processes(folder: Path) -> Iterator[Processes]:
    try:
        with broker() as kafka:
            yield from _started(folder, kafka)
    except KafkaMissingError as error:
        raise NotHereError(f"needs a real Apache Kafka: {error}") from error


def _started(folder: Path, kafka: Broker | Container) -> Iterator[Processes]:
    variables = {
        **SETTINGS,
        "RECOLLECT_KAFKA_BOOTSTRAP": kafka.bootstrap,
        "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
    }
    key = f"rk_{secrets.token_hex(16)}"
    servers = [
        Server(folder / "data", variables, only=part, key=key)
        for part in ("api", "api", "pipeline", "pipeline")
    ]
    with ThreadPoolExecutor() as threads:
        try:
            list(threads.map(Server.start, servers))
            yield Processes(kafka, servers[:2], servers[2:])
        finally:
            list(threads.map(Server.kill, servers))


def kill_api(folder: Path, short: bool) -> Outcome:
    """kill -9 of one of two processes that answer."""
    with _processes(folder) as service:
        with writing(service.urls, service.api[0].key) as written:
            for _ in range(1 if short else 3):
                written.at_least(20)
                service.api[0].kill()
                written.at_least(10)
                service.api[0].start()
            written.at_least(10)
        return outcome("kill -9 of an API process", service.reader(), written)


def kill_pipeline(folder: Path, short: bool) -> Outcome:
    """kill -9 of one of two processes that work, in the middle of batches."""
    with _processes(folder) as service:
        with writing(service.urls, service.api[0].key) as written:
            for _ in range(1 if short else 3):
                written.at_least(30)
                service.pipeline[0].kill()
                written.at_least(30)
                service.pipeline[0].start()
            written.at_least(10)
        return outcome("kill -9 of a pipeline process", service.reader(), written)


def kill_broker(folder: Path, short: bool) -> Outcome:
    """kill -9 of the broker, which starts again at once."""
    with _processes(folder) as service:
        with writing(service.urls, service.api[0].key) as written:
            for _ in range(1 if short else 3):
                written.at_least(30)
                service.kafka.stop(signal.SIGKILL)
                service.kafka.start()
            written.at_least(10)
        return outcome("kill -9 of the broker", service.reader(), written)


def broker_away(folder: Path, short: bool) -> Outcome:
    """The broker is away for a minute: adds are refused with 503 and say when to come back."""
    with _processes(folder) as service:
        with writing(service.urls, service.api[0].key, pause=0.02) as written:
            written.at_least(30)
            began = time.monotonic()
            service.kafka.stop()
            written.until_refused(UNAVAILABLE)
            if not short:
                time.sleep(max(0.0, 60 - (time.monotonic() - began)))
            ready = service.api[0]
            named = Reader(ready.url, ready.key).http.get("/ready")
            service.kafka.start()
            written.at_least(10)
        if not written.hints:
            raise TrialError("no refusal said when to come back")
        notes = (
            f"{sum(written.hints.values())} refusals said when to come back",
            f"/ready answered {named.status_code}",
        )
        return outcome("broker away", service.reader(), written, notes=notes)


def poison(folder: Path, short: bool) -> Outcome:
    """What another program wrote: no JSON, no UTF-8 in value or header, another shape."""
    del short
    bad: list[tuple[bytes, list[tuple[str, bytes]]]] = [
        (b"{not json", []),
        (b'{"operation": "explode"}', []),
        (b"\xff\xfe", []),
        (b"{}", [("bad", b"\xff\xfe")]),
    ]
    with _processes(folder) as service:
        reader = service.reader()
        with writing(service.urls, service.api[0].key) as written:
            written.at_least(20)
            asyncio.run(_send(service.kafka.bootstrap, bad))
            written.at_least(20)
        until(lambda: len(reader.letters()) == len(bad), "every poison message parked")
        if not all(one["error"] and one["stage"] for one in reader.letters()):
            raise TrialError("a dead letter has no reason")
        reader.ask("POST", "/admin/dlq/replay")
        until(lambda: len(reader.letters()) == len(bad), "every poison message parked again")
        return outcome("poison messages on Kafka", reader, written, parked=len(bad))


async def _send(bootstrap: str, bad: list[tuple[bytes, list[tuple[str, bytes]]]]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    for value, headers in bad:
        await producer.send_and_wait(DOCUMENTS_SUBMITTED.name, value, b"key", headers=headers)
    await producer.stop()


TRIALS: dict[str, Trial] = {
    "kafka-api": kill_api,
    "kafka-pipeline": kill_pipeline,
    "kafka-broker": kill_broker,
    "kafka-away": broker_away,
    "kafka-poison": poison,
}
