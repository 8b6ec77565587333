"""Faults of the embedded default: one process, its disk, its embedder, its files and its clock."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil

from app.resources import SystemClock
from bench.chaos.embedding_endpoint import serve_endpoint
from bench.chaos.fault_trial import (
    NAMESPACE,
    ServiceReader,
    TrialError,
    TrialOutcome,
    assess_outcome,
    wait_until,
    write_load,
)
from bench.service_process import Server, run_command
from pipeline.bus.records import ProducerRecord
from pipeline.bus.sqlite.bus import SqliteBus
from schemas.topics import DOCUMENTS_CHUNKED, DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED

PARTITIONS = 4
TMPFS = 96 * 1024 * 1024
SETTINGS = {"RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "0.2", "RECOLLECT_EMBEDDER": "wordllama"}
"""The quickest embedder: faults are about what is kept, and vectors are the bulk of the work."""
CLOCK = (
    "import app.resources as f, pathlib, datetime, app.cli.main\n"
    "plain, path = f.SystemClock.now, pathlib.Path({path!r})\n"
    "off = lambda: datetime.timedelta(seconds=float(path.read_text()))\n"
    "f.SystemClock.now = lambda self: plain(self) + off()\n"
    "app.cli.main.app()\n"
)
"""The service, with a clock that is off by as many seconds as a file says."""

Trial = Callable[[Path, bool], TrialOutcome]
"""A trial in a folder of its own; the second argument asks for a short one."""


class TrialNotSupportedError(Exception):
    """A trial that this machine can't do; the message says why."""


def kill_service(folder: Path, short: bool) -> TrialOutcome:
    """kill -9 at random moments, again and again."""
    chance = random.Random(5)
    with Server(folder / "data", SETTINGS) as server:
        with write_load([server.url], server.key) as written:
            for _ in range(2 if short else 6):
                written.wait_for_acknowledged(20)
                time.sleep(chance.uniform(0, 0.5))
                server.kill()
                server.start()
            written.wait_for_acknowledged(5)
            server.kill()
        server.start()
        return assess_outcome("kill -9 of the service", ServiceReader(server.url, server.key), written)


def full_disk(folder: Path, short: bool) -> TrialOutcome:
    """The disk is full for a while: nothing is acknowledged that is not on it."""
    with _tmpfs(folder / "disk") as disk, Server(disk / "data", SETTINGS) as server:
        reader = ServiceReader(server.url, server.key)
        with write_load([server.url], server.key, pause=0.01) as written:
            written.wait_for_acknowledged(30)
            filler = disk / "filler"
            _fill(filler)
            written.wait_for_refusal()
            ready = reader.request("GET", "/ready")
            time.sleep(1 if short else 5)
            filler.unlink()
            written.wait_for_acknowledged(10)
        reported = "named" if ready.status_code == 503 and "disk" in ready.text else "did not name"
        hints = sum(written.retry_after_values.values())
        notes = (f"/ready {reported} the disk", f"{hints} refusals said when to come back")
        return assess_outcome("full disk", reader, written, notes=notes)


def slow_embedder(folder: Path, short: bool) -> TrialOutcome:
    """The embedder outlasts every timeout; what is accepted meanwhile is found when it answers."""
    with serve_endpoint() as double, Server(folder / "data", SETTINGS | double.settings()) as server:
        reader = ServiceReader(server.url, server.key)
        with write_load([server.url], server.key, pause=0.05) as written:
            written.wait_for_acknowledged(10)
            double.open.clear()
            double.held.wait()
            # The client of the service gives up after 30 s: the long trial has it do so twice.
            time.sleep(3 if short else 65)
            ready = reader.request("GET", "/ready").json()
            double.open.set()
            written.wait_for_acknowledged(5)
        named = sorted({reason["part"] for reason in ready["reasons"]})
        return assess_outcome("embedder that does not answer", reader, written, notes=(f"/ready named {named}",))


def malformed_records(folder: Path, short: bool) -> TrialOutcome:
    """Records that nobody could have written: not JSON, of another version, no UTF-8, without a key."""
    del short
    bad = [
        (b"key", b"{not json"),
        (b"key", b'{"operation": "explode", "incarnation": "x#0"}'),
        (b"key", b'["another", "shape"]'),
        (b"key", b"\xff\xfe"),
        (b"\xff\xfe", b"{}"),
        (b"", b""),
    ]
    topics = [DOCUMENTS_SUBMITTED.name, DOCUMENTS_EXTRACTED.name, DOCUMENTS_CHUNKED.name]
    with Server(folder / "data", SETTINGS) as server:
        with write_load([server.url], server.key) as written:
            written.wait_for_acknowledged(20)
            server.stop()
            entries = [ProducerRecord(key, value, {}) for key, value in bad]
            asyncio.run(_append(server.data_dir, topics, entries))
            server.start()
            written.wait_for_acknowledged(20)
        reader = ServiceReader(server.url, server.key)
        # documents.extracted and documents.chunked are read by two stages each, and each parks what it can't read.
        expected = len(bad) * (len(topics) + 2)
        wait_until(lambda: len(reader.dead_letters()) == expected, "every poison message dead-lettered")
        if not all(letter["error"] and letter["stage"] for letter in reader.dead_letters()):
            raise TrialError("a dead letter has no reason")
        reader.ask("POST", "/admin/dlq/redrive")
        wait_until(lambda: len(reader.dead_letters()) == expected, "every poison message dead-lettered again")
        return assess_outcome("poison messages", reader, written, dead_lettered=expected)


def damaged_blob(damage: str, folder: Path, short: bool) -> TrialOutcome:
    """A large value is damaged between being stored and being read; restored, the dead letter is replayed."""
    del short
    text = large_text("lighthouses")
    # Who is held must be the stage that reads the value, not the one that embeds memories.
    late = {"RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "3600", "RECOLLECT_DREAMING_MAX_WAIT_SECONDS": "3600"}
    with serve_endpoint() as double, Server(folder / "data", SETTINGS | late | double.settings()) as server:
        reader = ServiceReader(server.url, server.key)
        with write_load([server.url], server.key, pause=0.05) as written:
            written.wait_for_acknowledged(10)
            double.open.clear()
            double.held.wait()
            body = {"content": text, "id": "large", "taskType": "superrag"}
            reader.ask("POST", f"/ns/{NAMESPACE}/document", body)
            blob = _blob_of_the_large_document(server.data_dir / "blobs")
            kept = blob.read_bytes()
            # The stage that writes the value would repair it, the one that reads it may have it in memory.
            wait_until(lambda: reader.lag("chunk") == 0, "the stage chunk has caught up")
            wait_until(lambda: reader.has_chunks("large"), "the stage index has read the value")
            server.stop()
            if damage == "missing":
                blob.unlink()
            else:
                blob.write_bytes(b"x" + kept[1:])
            double.open.set()
            server.start()
            wait_until(lambda: reader.status("large")[0] == "failed", "the document failed")
            if not reader.status("large")[1]:
                raise TrialError("the document failed without a reason")
            wait_until(
                lambda: ["blob" in letter["error"] for letter in reader.dead_letters()] == [True], "one dead letter"
            )
            blob.write_bytes(kept)
            command(server, "dlq", "redrive", DOCUMENTS_CHUNKED.name)
            wait_until(lambda: reader.status("large")[0] == "done", "the document is done")
        remaining = len(reader.dead_letters())
        more = {"dead_lettered": 1, "failed": 1, "redelivered": 1 if not remaining else 0}
        return assess_outcome(f"{damage} claim check", reader, written, **more)


def failing_parser(folder: Path, short: bool) -> TrialOutcome:
    """Files on which the parser crashes, hangs or takes all memory: they fail, the rest does not notice."""
    del short
    limits = {"RECOLLECT_PARSE_TIMEOUT_SECONDS": "2", "RECOLLECT_PARSE_MEMORY_MB": "512"}
    page = b"<html><body>" + b"<div><p>word " * 200_000 + b"</body></html>"
    with Server(folder / "data", SETTINGS | limits) as server:
        reader = ServiceReader(server.url, server.key)
        with write_load([server.url], server.key, pause=0.01) as written:
            written.wait_for_acknowledged(10)
            files = {
                "broken": ("broken.pdf", b"%PDF-1.7 nothing of the kind", "application/pdf"),
                "endless": ("endless.html", page, "text/html"),
            }
            ids = {name: _upload(reader, file) for name, file in files.items()}
            crashed = _upload(reader, ("crash.html", page + b"<!-- another -->", "text/html"))
            wait_until(lambda: reader.status(ids["broken"])[0] == "failed", "the broken file failed")
            wait_until(lambda: _kill_parser(server.pid) or reader.status(crashed)[0] == "failed", "the parser died")
            names = [*ids.values(), crashed]
            wait_until(lambda: all(reader.status(name)[0] in {"failed", "done"} for name in names), "all decided")
            written.wait_for_acknowledged(10)
        failed = [reader.status(name)[1] for name in names if reader.status(name)[0] == "failed"]
        if not failed or not all(failed):
            raise TrialError(f"files failed without a reason: {failed}")
        return assess_outcome("parser that crashes or hangs", reader, written, failed=len(failed))


def clock_jump(folder: Path, short: bool) -> TrialOutcome:
    """The clock is set back by an hour, and forward again."""
    del short
    offset = folder / "offset"
    offset.write_text("0")
    with _ClockShiftedServer(folder / "data", SETTINGS, offset) as server:
        with write_load([server.url], server.key, pause=0.01) as written:
            reader = ServiceReader(server.url, server.key)
            for seconds in (-3600, 0, -7200, 60):
                written.wait_for_acknowledged(10)
                _replace(offset, str(seconds))
                _change(reader, f"{seconds} s")
        outcome = assess_outcome("clock going backwards", reader, written)
        wait_until(lambda: _has_memories(reader, "diary"), "memories of a document to which text was added")
        return outcome


def _change(reader: ServiceReader, said: str) -> None:
    """Change a setting and add to a document; TrialError if the acknowledged setting does not hold."""
    path = f"/ns/{reader.namespace}"
    reader.request("PATCH", path, json={"supportingContext": said}).raise_for_status()
    if reader.ask("GET", path).get("supportingContext") != said:
        raise TrialError(f"a setting of {path} was acknowledged and does not hold, with a clock off by {said}")
    added = {"id": "diary", "content": f"I was {said} late today."}
    reader.request("POST", f"{path}/document", json=added).raise_for_status()


def _has_memories(reader: ServiceReader, document: str) -> bool:
    system = reader.ask("GET", f"/ns/{reader.namespace}/document/{document}").get("system", {})
    return bool(system.get("dreamingStatus") == "done")


TRIALS: dict[str, Trial] = {
    "kill": kill_service,
    "disk": full_disk,
    "embedder": slow_embedder,
    "poison": malformed_records,
    "corrupt": partial(damaged_blob, "corrupt"),
    "missing": partial(damaged_blob, "missing"),
    "parser": failing_parser,
    "clock": clock_jump,
}


class _ClockShiftedServer(Server):
    """A server whose clock is off by what a file says."""

    def __init__(self, data_dir: Path, environment: dict[str, str], offset: Path) -> None:
        super().__init__(data_dir, environment)
        self._offset = offset

    def _command(self) -> list[str]:
        _, *arguments = super()._command()
        return [sys.executable, "-c", CLOCK.format(path=str(self._offset)), *arguments]


async def _append(data: Path, topics: list[str], entries: list[ProducerRecord]) -> None:
    bus = await SqliteBus.open(data / "log", partitions=PARTITIONS, clock=SystemClock())
    for topic in topics:
        await bus.append(topic, entries)
    await bus.close()


@contextmanager
def _tmpfs(place: Path) -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: S603 - our own arguments
        raise TrialNotSupportedError("needs a small tmpfs, which only root may mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607 - as above


def _fill(path: Path) -> None:
    """Fill the disk until no byte fits."""
    with path.open("wb", buffering=0) as out:
        for size in (1024 * 1024, 4096):
            try:
                while True:
                    out.write(b"\0" * size)
            except OSError:
                continue


def large_text(subject: str) -> str:
    """Return a text whose chunks are just too large to stand in an event."""
    return "\n\n".join(f"Paragraph {number} of a long text about {subject}." for number in range(5000))


def chunk_blobs(blobs: Path) -> set[Path]:
    """The claim checks of chunks, which the stage `embed` reads."""
    return {path for path in stored_blobs(blobs) if path.read_bytes().startswith(b'[{"start":')}


def stored_blobs(blobs: Path) -> set[Path]:
    return {path for path in blobs.glob("*/*") if path.suffix != ".part"}


def _blob_of_the_large_document(blobs: Path) -> Path:
    wait_until(lambda: bool(chunk_blobs(blobs)), "the chunks of the large text stored")
    (blob,) = chunk_blobs(blobs)
    return blob


def _upload(reader: ServiceReader, file: tuple[str, bytes, str]) -> str:
    answer = reader.request("POST", f"/ns/{NAMESPACE}/document/file", files={"file": file})
    return str(answer.json()["id"])


def _kill_parser(pid: int) -> bool:
    """Kill a process of the server's that parses; whether one was there."""
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended by itself
            if "extraction" in " ".join(child.cmdline()):
                child.send_signal(signal.SIGKILL)
                return True
    return False


def _replace(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


def command(server: Server, *words: str) -> None:
    """Run a command as an operator would."""
    variables = {**os.environ, "RECOLLECT_URL": server.url, "RECOLLECT_API_KEY": server.key}
    run_command(words, server.data_dir, variables)
