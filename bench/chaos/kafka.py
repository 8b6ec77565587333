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

from bench.chaos.embedded import NotHereError, command, cut
from bench.chaos.endpoint import Endpoint, endpoint
from bench.chaos.trial import Outcome, Reader, TrialError, Writing, outcome, until, writing
from bench.server import Server
from schemas import topics
from schemas.events import Content, DocumentSubmitted
from schemas.ids import document_key
from schemas.topics import Topic
from tools.kafka import Broker, Container, KafkaMissingError, broker

SETTINGS = {
    "RECOLLECT_KAFKA_PARTITIONS": "4",
    "RECOLLECT_KAFKA_SESSION_SECONDS": "6",
    "RECOLLECT_DREAMING_QUIET_SECONDS": "0.5",
    "RECOLLECT_SHARDS": "2",
}
SESSION_SECONDS = 6
AWAY_SECONDS = 60
PAUSE = 0.05
UNAVAILABLE = 503
BAD: Sequence[tuple[bytes, list[tuple[str, bytes]]]] = [
    (b"{not json", []),
    (b'{"operation": "explode", "change": {"kind": "explode"}}', []),
    (b"\xff\xfe", []),
    (b"{}", [("bad", b"\xff\xfe")]),
]
"""Values and headers that no stage can read."""
STRAY = "stray"
READERS: dict[Topic[Any], int] = {
    topics.DOCUMENTS_SUBMITTED: 1,
    topics.DOCUMENTS_EXTRACTED: 2,
    topics.DOCUMENTS_CHUNKED: 1,
    topics.MEMORIES_FORMED: 1,
    topics.MEMORIES_FORGOTTEN: 1,
    topics.SETTINGS_CHANGED: 1,
    topics.OPERATIONS_REQUESTED: 1,
    topics.CONNECTORS_TRIGGERED: 1,
    topics.CONNECTORS_SYNCED: 1,
}
"""How many stages read a topic: each parks what it can't read."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Two that answer and two that work, on one broker and with one embedder."""

    kafka: Broker | Container
    embedder: Endpoint
    api: list[Server]
    pipeline: list[Server]
    pause: float = PAUSE
    """Seconds between two documents of a writer: what is written has to be handled before a trial ends."""

    @contextmanager
    def written(self, namespace: str) -> Iterator[tuple[Writing, Reader]]:
        """Writers at both that answer until the block ends, and who reads at the second."""
        urls = [one.url for one in self.api]
        with writing(urls, self.api[0].key, self.pause, namespace) as written:
            yield written, Reader(self.api[1].url, self.api[1].key, namespace)


Trial = Callable[[Processes, bool], Outcome]
"""A trial in a namespace of its own; the second argument asks for a short one."""


@contextmanager
def processes(folder: Path, pause: float = PAUSE) -> Iterator[Processes]:
    """All of them, started; every trial leaves them running."""
    with ExitStack() as stack:
        try:
            kafka = stack.enter_context(broker())
        except KafkaMissingError as error:
            raise NotHereError(f"needs a real Apache Kafka: {error}") from error
        embedder = stack.enter_context(endpoint())
        variables = {
            **SETTINGS,
            **embedder.settings(),
            "RECOLLECT_KAFKA_BOOTSTRAP": kafka.bootstrap,
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
        }
        key = f"rk_{secrets.token_hex(16)}"
        servers = [
            Server(folder / "data", variables, only=part, key=key)
            for part in ("api", "api", "pipeline", "pipeline")
        ]
        stack.callback(_together, Server.kill, servers)
        _together(Server.start, servers)
        yield Processes(kafka, embedder, servers[:2], servers[2:], pause)


def _together(do: Callable[[Server], object], servers: Sequence[Server]) -> None:
    with ThreadPoolExecutor() as threads:
        list(threads.map(do, servers))


def kill_api(service: Processes, short: bool) -> Outcome:
    """kill -9 of one of two processes that answer."""
    with service.written("kill-api") as (written, reader):
        gone = time.monotonic()
        for _ in range(1 if short else 3):
            written.at_least(20)
            service.api[0].kill()
            written.at_least(10)
            gone = time.monotonic()
            service.api[0].start()
        written.at_least(10)
    return outcome("kill -9 of an API process", reader, written, gone)


def kill_pipeline(service: Processes, short: bool) -> Outcome:
    """kill -9 of one of two processes that work, in the middle of batches: one after the other."""
    with service.written("kill-pipeline") as (written, reader):
        gone = time.monotonic()
        for number in range(1 if short else 4):
            victim = service.pipeline[number % 2]
            written.at_least(30)
            victim.kill()
            written.at_least(30)
            gone = time.monotonic()
            victim.start()
        written.at_least(10)
    return outcome("kill -9 of a pipeline process", reader, written, gone)


def no_pipeline(service: Processes, short: bool) -> Outcome:
    """kill -9 of all that work; one starts again, and does the work of both."""
    first, second = service.pipeline
    with service.written("no-pipeline") as (written, reader):
        written.at_least(20)
        _together(Server.kill, service.pipeline)
        written.at_least(30 if short else 300)
        gone = time.monotonic()
        first.start()
        written.at_least(10)
    result = outcome("kill -9 of both pipeline processes, one starts again", reader, written, gone)
    second.start()
    return result


def kill_broker(service: Processes, short: bool) -> Outcome:
    """kill -9 of the broker, which starts again at once."""
    with service.written("kill-broker") as (written, reader):
        gone = time.monotonic()
        for _ in range(1 if short else 3):
            written.at_least(20)
            service.kafka.stop(signal.SIGKILL)
            gone = time.monotonic()
            service.kafka.start()
        written.at_least(20)
    return outcome("kill -9 of the broker", reader, written, gone)


def broker_away(service: Processes, short: bool) -> Outcome:
    """The broker is away: adds are refused and told when to come back, whatever can be read still is."""
    searched = 0
    with service.written("broker-away") as (written, reader):
        written.at_least(20)
        until(lambda: reader.is_found("word0x1"), "the first document is found")
        began = time.monotonic()
        service.kafka.stop()
        while not written.refused.get(UNAVAILABLE) or not (short or time.monotonic() > began + AWAY_SECONDS):
            if not reader.is_found("word0x1") or reader.status("word0x1")[0] != "done":
                raise TrialError("what was there can't be read while the broker is away")
            searched += 1
            time.sleep(PAUSE)
        ready = reader.request("GET", "/ready")
        gone = time.monotonic()
        service.kafka.start()
        written.at_least(20)
    hints = sum(written.hints.values())
    if hints != written.refused[UNAVAILABLE] or ready.status_code != UNAVAILABLE:
        raise TrialError(f"{written.refused}, {hints} with a time to come back; /ready: {ready.text}")
    notes = (
        f"away for {gone - began:.0f} s",
        f"{searched} searches and reads went on",
        f"answers within {written.slowest:.1f} s",
    )
    return outcome("broker away", reader, written, gone, notes=notes)


def slow_embedder(service: Processes, short: bool) -> Outcome:
    """The embedder takes longer than the group's session: whoever waits for it keeps its partitions."""
    with service.written("slow-embedder") as (written, reader):
        written.at_least(10)
        _hold(service.embedder)
        written.at_least(20)
        # The client of the service gives up after 30 s: the long trial has it do so.
        time.sleep(1.5 * SESSION_SECONDS if short else 40)
        gone = time.monotonic()
        service.embedder.open.set()
        written.at_least(10)
    return outcome("embedder slower than the session", reader, written, gone)


def poison(service: Processes, short: bool) -> Outcome:
    """What another program wrote on every topic: no JSON, another shape, no UTF-8, a space of nobody's."""
    del short
    wanted = len(BAD) * sum(READERS.values()) + 1
    with service.written("poison") as (written, reader):
        before = {one["id"] for one in reader.letters()}
        written.at_least(10)
        asyncio.run(_send(service.kafka.bootstrap))
        written.at_least(10)

    def parked() -> bool:
        return len([one for one in reader.letters() if one["id"] not in before]) == wanted

    until(parked, f"{wanted} poison messages parked")
    letters = [one for one in reader.letters() if one["id"] not in before]
    if not all(one["error"] and one["stage"] for one in letters):
        raise TrialError("a dead letter has no reason")
    (lost,) = [one for one in letters if STRAY in one["error"]]
    stray = Reader(service.api[0].url, service.api[0].key, STRAY)
    stray.ask("POST", f"/ns/{STRAY}/document", {"content": "A namespace begins with its first document."})
    command(service.api[0], "dlq", "replay", lost["id"])
    until(lambda: stray.status("late")[0] == "done", "the document of nobody's space is done")
    command(service.api[0], "dlq", "replay")
    wanted -= 1
    until(parked, "every other poison message parked again, for its cause can't go")
    command(service.api[0], "dlq", "drop", "--yes", *(topic.name for topic in READERS))
    return outcome("poison messages on every topic", reader, written, parked=wanted + 1, brought_back=1)


def claim_check(service: Processes, short: bool, *, missing: bool) -> Outcome:
    """A large value is damaged before it is read; when it is restored, the dead letter is given back."""
    del short
    how = "missing" if missing else "corrupt"
    text = "\n\n".join(
        f"Paragraph {number} of a long text about {how} lighthouses." for number in range(8000)
    )
    blobs = service.api[0].data_dir / "blobs"
    with service.written(f"claim-{how}") as (written, reader):
        written.at_least(10)
        _hold(service.embedder)
        known = cut(blobs)
        body = {"content": text, "id": "large", "taskType": "superrag"}
        reader.ask("POST", f"/ns/{reader.namespace}/document", body)
        until(lambda: bool(cut(blobs) - known), "the chunks of the large text stored")
        (blob,) = cut(blobs) - known
        kept = blob.read_bytes()
        if missing:
            blob.unlink()
        else:
            blob.write_bytes(b"x" + kept[1:])
        service.embedder.open.set()
        until(lambda: reader.status("large")[0] == "failed", "the large document failed")
        if not reader.status("large")[1]:
            raise TrialError("the document failed without a reason")
        until(lambda: ["blob" in one["error"] for one in reader.letters()] == [True], "one dead letter")
        gone = time.monotonic()
        blob.write_bytes(kept)
        command(service.api[0], "dlq", "replay", topics.DOCUMENTS_CHUNKED.name)
        until(lambda: reader.status("large")[0] == "done", "the large document is done")
    left = len(reader.letters())
    brought_back = int(not left)
    return outcome(f"{how} claim check", reader, written, gone, parked=1, failed=1, brought_back=brought_back)


def _hold(embedder: Endpoint) -> None:
    """Let it answer no more, and wait until somebody waits for it."""
    embedder.held.clear()
    embedder.open.clear()
    embedder.held.wait()


async def _send(bootstrap: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for topic in READERS:
            for value, headers in BAD:
                await producer.send_and_wait(topic.name, value, b"key", headers=headers)
        event = _stray()
        key = f"{event.space}/{event.document}".encode()
        await producer.send_and_wait(topics.DOCUMENTS_SUBMITTED.name, event.model_dump_json().encode(), key)


def _stray() -> DocumentSubmitted:
    """A document of a namespace that never began."""
    space = f"{STRAY}#0"
    return DocumentSubmitted(
        operation="add",
        space=space,
        document=document_key(space, "late"),
        id="late",
        at=datetime.now(UTC),
        content=Content(text="It came before its namespace did."),
    )


TRIALS: dict[str, Trial] = {
    "kafka-api": kill_api,
    "kafka-pipeline": kill_pipeline,
    "kafka-workers": no_pipeline,
    "kafka-broker": kill_broker,
    "kafka-away": broker_away,
    "kafka-embedder": slow_embedder,
    "kafka-poison": poison,
    "kafka-corrupt": partial(claim_check, missing=False),
    "kafka-missing": partial(claim_check, missing=True),
}
ALWAYS = ("kafka-pipeline", "kafka-away", "kafka-poison", "kafka-corrupt")
"""Those that every run of the tests tries: each takes half a minute. The others need `make chaos`."""
