"""Faults of several processes on Kafka: those that answer, those that work, the broker, and what is on it."""

import asyncio
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from cryptography.fernet import Fernet

from bench.chaos.embedded_faults import TrialNotSupportedError, command, large_text, stored_blobs
from bench.chaos.embedding_endpoint import Endpoint, serve_endpoint
from bench.chaos.fault_trial import (
    ServiceReader,
    TrialError,
    TrialOutcome,
    WriteLoad,
    assess_outcome,
    wait_until,
    write_load,
)
from bench.service_process import Server
from schemas import topics
from schemas.events import Content, DocumentSubmitted
from schemas.ids import document_key
from schemas.topics import Topic
from tools.kafka_broker import DockerBroker, LocalBroker, run_broker
from tools.kafka_installation import KafkaUnavailableHereError

SETTINGS = {
    "RECOLLECT_LOG_PARTITIONS": "4",
    "RECOLLECT_KAFKA_SESSION_TIMEOUT_SECONDS": "6",
    "RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "0.5",
    "RECOLLECT_EMBEDDER": "wordllama",
    "RECOLLECT_SHARDS": "2",
    "RECOLLECT_SEALING": "true",
}
SESSION_SECONDS = 6
BROKER_OUTAGE_SECONDS = 60
PAUSE = 0.05
UNAVAILABLE = 503
BAD: Sequence[tuple[bytes, list[tuple[str, bytes]]]] = [
    (b"{not json", []),
    (b'{"operation": "explode", "change": {"kind": "explode"}}', []),
    (b"\xff\xfe", []),
    (b"{}", [("bad", b"\xff\xfe")]),
]
"""Values and headers that no stage can read."""
UNKNOWN_NAMESPACE = "stray"
READERS: dict[Topic[Any], int] = {
    topics.DOCUMENTS_SUBMITTED: 1,
    topics.DOCUMENTS_EXTRACTED: 2,
    topics.DOCUMENTS_CHUNKED: 2,
    topics.MEMORIES_FORMED: 1,
    topics.MEMORIES_FORGOTTEN: 1,
    topics.SETTINGS_CHANGED: 1,
    topics.OPERATIONS_REQUESTED: 1,
    topics.CONNECTORS_TRIGGERED: 1,
    topics.CONNECTORS_SYNCED: 1,
}
"""Stages per topic; each dead-letters records that it can't read."""


@dataclass(frozen=True, slots=True)
class KafkaDeployment:
    """Two that answer and two that work, on one broker and with one embedder."""

    kafka: LocalBroker | DockerBroker
    embedder: Endpoint
    api: list[Server]
    pipeline: list[Server]
    pause: float = PAUSE
    """Seconds between two documents of a writer: what is written has to be handled before a trial ends."""

    @contextmanager
    def write_load(self, namespace: str) -> Iterator[tuple[WriteLoad, ServiceReader]]:
        """Writers at both that answer until the block ends, and who reads at the second."""
        urls = [process.url for process in self.api]
        with write_load(urls, self.api[0].key, self.pause, namespace) as written:
            yield written, ServiceReader(self.api[1].url, self.api[1].key, namespace)


Trial = Callable[[KafkaDeployment, bool], TrialOutcome]
"""A trial in a namespace of its own; the second argument asks for a short one."""


@contextmanager
def start_deployment(folder: Path, pause: float = PAUSE) -> Iterator[KafkaDeployment]:
    """All of them, started; every trial leaves them running."""
    with ExitStack() as stack:
        try:
            kafka = stack.enter_context(run_broker())
        except KafkaUnavailableHereError as error:
            raise TrialNotSupportedError(f"needs a real Apache Kafka: {error}") from error
        embedder = stack.enter_context(serve_endpoint())
        variables = {
            **SETTINGS,
            **embedder.settings(),
            "RECOLLECT_KAFKA_BOOTSTRAP": kafka.bootstrap,
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
        }
        key = f"rk_{secrets.token_hex(16)}"
        servers = [
            Server(folder / "data", variables, only=part, key=key) for part in ("api", "api", "pipeline", "pipeline")
        ]
        stack.callback(_in_parallel, Server.kill, servers)
        _in_parallel(Server.start, servers)
        yield KafkaDeployment(kafka, embedder, servers[:2], servers[2:], pause)


def _in_parallel(do: Callable[[Server], object], servers: Sequence[Server]) -> None:
    with ThreadPoolExecutor() as threads:
        list(threads.map(do, servers))


def kill_api(service: KafkaDeployment, short: bool) -> TrialOutcome:
    """kill -9 of one of two processes that answer."""
    with service.write_load("kill-api") as (written, reader):
        recovery_start = time.monotonic()
        for _ in range(1 if short else 3):
            written.wait_for_acknowledged(20)
            service.api[0].kill()
            written.wait_for_acknowledged(10)
            recovery_start = time.monotonic()
            service.api[0].start()
        written.wait_for_acknowledged(10)
    return assess_outcome("kill -9 of an API process", reader, written, recovery_start)


def kill_pipeline(service: KafkaDeployment, short: bool) -> TrialOutcome:
    """kill -9 of one of two processes that work, in the middle of batches: one after the other."""
    with service.write_load("kill-pipeline") as (written, reader):
        recovery_start = time.monotonic()
        for number in range(1 if short else 4):
            victim = service.pipeline[number % 2]
            written.wait_for_acknowledged(30)
            victim.kill()
            written.wait_for_acknowledged(30)
            recovery_start = time.monotonic()
            victim.start()
        written.wait_for_acknowledged(10)
    return assess_outcome("kill -9 of a pipeline process", reader, written, recovery_start)


def restart_all_workers(service: KafkaDeployment, short: bool) -> TrialOutcome:
    """kill -9 of all that work; one starts again, and does the work of both."""
    first, second = service.pipeline
    with service.write_load("no-pipeline") as (written, reader):
        written.wait_for_acknowledged(20)
        _in_parallel(Server.kill, service.pipeline)
        written.wait_for_acknowledged(30 if short else 300)
        recovery_start = time.monotonic()
        first.start()
        written.wait_for_acknowledged(10)
    result = assess_outcome("kill -9 of both pipeline processes, one starts again", reader, written, recovery_start)
    second.start()
    return result


def kill_broker(service: KafkaDeployment, short: bool) -> TrialOutcome:
    """kill -9 of the broker, which starts again at once."""
    with service.write_load("kill-broker") as (written, reader):
        recovery_start = time.monotonic()
        for _ in range(1 if short else 3):
            written.wait_for_acknowledged(20)
            service.kafka.stop(signal.SIGKILL)
            recovery_start = time.monotonic()
            service.kafka.start()
        written.wait_for_acknowledged(20)
    return assess_outcome("kill -9 of the broker", reader, written, recovery_start)


def broker_outage(service: KafkaDeployment, short: bool) -> TrialOutcome:
    """The broker is away: adds are refused and told when to come back, whatever can be read still is."""
    searched = 0
    with service.write_load("broker-away") as (written, reader):
        written.wait_for_acknowledged(20)
        wait_until(lambda: reader.is_found("word0x1"), "the first document is found")
        wait_until(lambda: reader.status("word0x1")[0] == "done", "the first document is done")
        began = time.monotonic()
        service.kafka.stop()
        while not written.refused.get(UNAVAILABLE) or not (short or time.monotonic() > began + BROKER_OUTAGE_SECONDS):
            if not reader.is_found("word0x1") or reader.status("word0x1")[0] != "done":
                raise TrialError("what was there can't be read while the broker is away")
            searched += 1
            time.sleep(PAUSE)
        ready = reader.request("GET", "/ready")
        recovery_start = time.monotonic()
        service.kafka.start()
        written.wait_for_acknowledged(20)
    hints = sum(written.retry_after_values.values())
    if hints != written.refused[UNAVAILABLE] or ready.status_code != UNAVAILABLE:
        raise TrialError(f"{written.refused}, {hints} with a time to come back; /ready: {ready.text}")
    notes = (
        f"away for {recovery_start - began:.0f} s",
        f"{searched} searches and reads went on",
        f"answers within {written.slowest:.1f} s",
    )
    return assess_outcome("broker away", reader, written, recovery_start, notes=notes)


def slow_embedder(service: KafkaDeployment, short: bool) -> TrialOutcome:
    """The embedder takes longer than the group's session: whoever waits for it keeps its partitions."""
    with service.write_load("slow-embedder") as (written, reader):
        written.wait_for_acknowledged(10)
        _block_embedder(service.embedder)
        written.wait_for_acknowledged(20)
        # The client of the service gives up after 30 s: the long trial has it do so.
        time.sleep(1.5 * SESSION_SECONDS if short else 40)
        recovery_start = time.monotonic()
        service.embedder.open.set()
        written.wait_for_acknowledged(10)
    return assess_outcome("embedder slower than the session", reader, written, recovery_start)


def malformed_records(service: KafkaDeployment, short: bool) -> TrialOutcome:
    """Publish foreign records on every topic: no JSON, another shape, no UTF-8, an incarnation of
    nobody's."""
    del short
    expected = len(BAD) * sum(READERS.values()) + 1
    with service.write_load("poison") as (written, reader):
        before = {letter["id"] for letter in reader.dead_letters()}
        written.wait_for_acknowledged(10)
        asyncio.run(_send(service.kafka.bootstrap))
        written.wait_for_acknowledged(10)

    def dead_lettered() -> bool:
        return len([letter for letter in reader.dead_letters() if letter["id"] not in before]) == expected

    wait_until(dead_lettered, f"{expected} poison messages dead-lettered")
    letters = [letter for letter in reader.dead_letters() if letter["id"] not in before]
    if not all(letter["error"] and letter["stage"] for letter in letters):
        raise TrialError("a dead letter has no reason")
    (lost,) = [letter for letter in letters if UNKNOWN_NAMESPACE in letter["error"]]
    stray = ServiceReader(service.api[0].url, service.api[0].key, UNKNOWN_NAMESPACE)
    stray.ask(
        "POST",
        f"/ns/{UNKNOWN_NAMESPACE}/document",
        {"content": "A namespace begins with its first document."},
    )
    command(service.api[0], "dlq", "redrive", lost["id"])
    wait_until(lambda: stray.status("late")[0] == "done", "the document of nobody's incarnation is done")
    command(service.api[0], "dlq", "redrive")
    expected -= 1
    wait_until(dead_lettered, "every other poison message dead-lettered again, for its cause can't go")
    command(service.api[0], "dlq", "drop", "--yes", *(topic.name for topic in READERS))
    return assess_outcome("poison messages on every topic", reader, written, dead_lettered=expected + 1, redelivered=1)


def damaged_blob(service: KafkaDeployment, short: bool, *, missing: bool) -> TrialOutcome:
    """A large value is damaged before it is read; when it is restored, the dead letter is given back."""
    del short
    damage = "missing" if missing else "corrupt"
    text = large_text(f"{damage} lighthouses")
    blobs = service.api[0].data_dir / "blobs"
    with service.write_load(f"claim-{damage}") as (written, reader):
        written.wait_for_acknowledged(10)
        _block_embedder(service.embedder)
        earlier_blobs = stored_blobs(blobs)
        body = {"content": text, "id": "large", "taskType": "superrag"}
        reader.ask("POST", f"/ns/{reader.namespace}/document", body)
        # Both are sealed, so only their order tells them apart.
        wait_until(lambda: len(stored_blobs(blobs) - earlier_blobs) > 1, "the large text and its chunks stored")
        blob = max(stored_blobs(blobs) - earlier_blobs, key=lambda path: path.stat().st_mtime)
        kept = blob.read_bytes()
        # Only the stage whose embedder is held may find it damaged.
        wait_until(lambda: reader.has_chunks("large"), "the stage index has read the value")
        if missing:
            blob.unlink()
        else:
            blob.write_bytes(b"x" + kept[1:])
        with written.paused():
            recovery_start = _recover_from_damage(service, reader, blob, kept)
        written.wait_for_acknowledged(10)
    remaining = len(reader.dead_letters())
    redelivered = int(not remaining)
    return assess_outcome(
        f"{damage} claim check", reader, written, recovery_start, dead_lettered=1, failed=1, redelivered=redelivered
    )


def _recover_from_damage(service: KafkaDeployment, reader: ServiceReader, blob: Path, kept: bytes) -> float:
    """Let the stage read the damaged value, restore it and replay the dead letter; returns when it was restored."""
    service.embedder.open.set()
    wait_until(lambda: reader.status("large")[0] == "failed", "the large document failed")
    if not reader.status("large")[1]:
        raise TrialError("the document failed without a reason")
    wait_until(lambda: ["blob" in letter["error"] for letter in reader.dead_letters()] == [True], "one dead letter")
    restored = time.monotonic()
    blob.write_bytes(kept)
    command(service.api[0], "dlq", "redrive", topics.DOCUMENTS_CHUNKED.name)
    wait_until(lambda: reader.status("large")[0] == "done", "the large document is done")
    return restored


def _block_embedder(embedder: Endpoint) -> None:
    """Let it answer no more, and wait until somebody waits for it."""
    embedder.held.clear()
    embedder.open.clear()
    embedder.held.wait()


async def _send(bootstrap: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for topic in READERS:
            for value, headers in BAD:
                await producer.send_and_wait(topic.name, value, b"key", headers=headers)
        event = _unknown_namespace_record()
        key = f"{event.incarnation}/{event.document}".encode()
        await producer.send_and_wait(topics.DOCUMENTS_SUBMITTED.name, event.model_dump_json().encode(), key)


def _unknown_namespace_record() -> DocumentSubmitted:
    """A document of a namespace that never began."""
    incarnation = f"{UNKNOWN_NAMESPACE}#0"
    return DocumentSubmitted(
        operation="add",
        incarnation=incarnation,
        document=document_key(incarnation, "late"),
        id="late",
        at=datetime.now(UTC),
        content=Content(text="It came before its namespace did."),
    )


TRIALS: dict[str, Trial] = {
    "kafka-api": kill_api,
    "kafka-pipeline": kill_pipeline,
    "kafka-workers": restart_all_workers,
    "kafka-broker": kill_broker,
    "kafka-away": broker_outage,
    "kafka-embedder": slow_embedder,
    "kafka-poison": malformed_records,
    "kafka-corrupt": partial(damaged_blob, missing=False),
    "kafka-missing": partial(damaged_blob, missing=True),
}
ALWAYS = ("kafka-pipeline", "kafka-away", "kafka-poison", "kafka-corrupt")
"""Trials of the test suite, half a minute each; the others need `make chaos`."""
