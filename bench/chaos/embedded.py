"""Faults of the embedded default: one process, its disk, its embedder, its files and its clock."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil

from bench.chaos.endpoint import endpoint
from bench.chaos.trial import NAMESPACE, Outcome, Reader, TrialError, outcome, until, writing
from bench.server import PROGRAM, Server
from pipeline.bus.log import LogBus
from pipeline.foundation import SystemClock
from pipeline.records import Entry
from schemas.topics import DOCUMENTS_CHUNKED, DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED

PARTITIONS = 4
TMPFS = 96 * 1024 * 1024
SETTINGS = {"RECOLLECT_DREAMING_QUIET_SECONDS": "0.2"}
CLOCK = (
    "import pipeline.foundation as f, pathlib, datetime, recollect\n"
    "plain, path = f.SystemClock.now, pathlib.Path({path!r})\n"
    "off = lambda: datetime.timedelta(seconds=float(path.read_text()))\n"
    "f.SystemClock.now = lambda self: plain(self) + off()\n"
    "recollect.main()\n"
)
"""The service, with a clock that is off by as many seconds as a file says."""

Trial = Callable[[Path, bool], Outcome]
"""A trial in a folder of its own; the second argument asks for a short one."""


class NotHereError(Exception):
    """A trial that this machine can't do; the message says why."""


def kill_service(folder: Path, short: bool) -> Outcome:
    """kill -9 at random moments, again and again."""
    chance = random.Random(5)
    with Server(folder / "data", SETTINGS) as server:
        with writing([server.url], server.key) as written:
            for _ in range(2 if short else 6):
                written.at_least(20)
                time.sleep(chance.uniform(0, 0.5))
                server.kill()
                server.start()
            written.at_least(5)
            server.kill()
        server.start()
        return outcome("kill -9 of the service", Reader(server.url, server.key), written)


def full_disk(folder: Path, short: bool) -> Outcome:
    """The disk is full for a while: nothing is acknowledged that is not on it."""
    with _tmpfs(folder / "disk") as disk, Server(disk / "data", SETTINGS) as server:
        reader = Reader(server.url, server.key)
        with writing([server.url], server.key, pause=0.01) as written:
            written.at_least(30)
            filler = disk / "filler"
            _fill(filler)
            written.until_refused()
            ready = reader.request("GET", "/ready")
            time.sleep(1 if short else 5)
            filler.unlink()
            written.at_least(10)
        said = "named" if ready.status_code == 503 and "disk" in ready.text else "did not name"
        hints = sum(written.hints.values())
        notes = (f"/ready {said} the disk", f"{hints} refusals said when to come back")
        return outcome("full disk", reader, written, notes=notes)


def slow_embedder(folder: Path, short: bool) -> Outcome:
    """The embedder outlasts every timeout; what is accepted meanwhile is found when it answers."""
    with endpoint() as double, Server(folder / "data", SETTINGS | double.settings()) as server:
        reader = Reader(server.url, server.key)
        with writing([server.url], server.key, pause=0.05) as written:
            written.at_least(10)
            double.open.clear()
            double.held.wait()
            # The client of the service gives up after 30 s: the long trial has it do so twice.
            time.sleep(3 if short else 65)
            ready = reader.request("GET", "/ready").json()
            double.open.set()
            written.at_least(5)
        named = sorted({one["part"] for one in ready["reasons"]})
        return outcome("embedder that does not answer", reader, written, notes=(f"/ready named {named}",))


def poison(folder: Path, short: bool) -> Outcome:
    """Records that nobody could have written: not JSON, of another version, no UTF-8, without a key."""
    del short
    bad = [
        (b"key", b"{not json"),
        (b"key", b'{"operation": "explode", "space": "x#0"}'),
        (b"key", b'["another", "shape"]'),
        (b"key", b"\xff\xfe"),
        (b"\xff\xfe", b"{}"),
        (b"", b""),
    ]
    topics = [DOCUMENTS_SUBMITTED.name, DOCUMENTS_EXTRACTED.name, DOCUMENTS_CHUNKED.name]
    with Server(folder / "data", SETTINGS) as server:
        with writing([server.url], server.key) as written:
            written.at_least(20)
            server.stop()
            entries = [Entry(key, value, {}) for key, value in bad]
            asyncio.run(_append(server.data_dir, topics, entries))
            server.start()
            written.at_least(20)
        reader = Reader(server.url, server.key)
        # documents.extracted is read by two stages, and each parks what it can't read.
        wanted = len(bad) * (len(topics) + 1)
        until(lambda: len(reader.letters()) == wanted, "every poison message parked")
        if not all(letter["error"] and letter["stage"] for letter in reader.letters()):
            raise TrialError("a dead letter has no reason")
        reader.ask("POST", "/admin/dlq/replay")
        until(lambda: len(reader.letters()) == wanted, "every poison message parked again")
        return outcome("poison messages", reader, written, parked=wanted)


def claim_check(how: str, folder: Path, short: bool) -> Outcome:
    """A large value is damaged between being stored and being read; restored, the dead letter is replayed."""
    del short
    text = "\n\n".join(f"Paragraph {number} of a long text about lighthouses." for number in range(8000))
    # Who is held must be the stage that reads the value, not the one that embeds memories.
    late = {"RECOLLECT_DREAMING_QUIET_SECONDS": "3600", "RECOLLECT_DREAMING_LONGEST_SECONDS": "3600"}
    with endpoint() as double, Server(folder / "data", SETTINGS | late | double.settings()) as server:
        reader = Reader(server.url, server.key)
        with writing([server.url], server.key, pause=0.05) as written:
            written.at_least(10)
            double.open.clear()
            double.held.wait()
            body = {"content": text, "id": "large", "taskType": "superrag"}
            reader.ask("POST", f"/ns/{NAMESPACE}/document", body)
            blob = _chunks_of_the_large_one(server.data_dir / "blobs")
            kept = blob.read_bytes()
            if how == "missing":
                blob.unlink()
            else:
                blob.write_bytes(b"x" + kept[1:])
            double.open.set()
            until(lambda: reader.status("large")[0] == "failed", "the document failed")
            if not reader.status("large")[1]:
                raise TrialError("the document failed without a reason")
            until(lambda: ["blob" in one["error"] for one in reader.letters()] == [True], "one dead letter")
            blob.write_bytes(kept)
            command(server, "dlq", "replay", DOCUMENTS_CHUNKED.name)
            until(lambda: reader.status("large")[0] == "done", "the document is done")
        left = len(reader.letters())
        more = {"parked": 1, "failed": 1, "brought_back": 1 if not left else 0}
        return outcome(f"{how} claim check", reader, written, **more)


def parser(folder: Path, short: bool) -> Outcome:
    """Files on which the parser crashes, hangs or takes all memory: they fail, the rest does not notice."""
    del short
    limits = {"RECOLLECT_EXTRACT_SECONDS": "2", "RECOLLECT_EXTRACT_MEMORY_MB": "512"}
    page = b"<html><body>" + b"<div><p>word " * 200_000 + b"</body></html>"
    with Server(folder / "data", SETTINGS | limits) as server:
        reader = Reader(server.url, server.key)
        with writing([server.url], server.key, pause=0.01) as written:
            written.at_least(10)
            files = {
                "broken": ("broken.pdf", b"%PDF-1.7 nothing of the kind", "application/pdf"),
                "endless": ("endless.html", page, "text/html"),
            }
            ids = {name: _upload(reader, file) for name, file in files.items()}
            crashed = _upload(reader, ("crash.html", page + b"<!-- another -->", "text/html"))
            until(lambda: reader.status(ids["broken"])[0] == "failed", "the broken file failed")
            until(
                lambda: _kill_parser(server.pid) or reader.status(crashed)[0] == "failed", "the parser died"
            )
            names = [*ids.values(), crashed]
            until(lambda: all(reader.status(one)[0] in {"failed", "done"} for one in names), "all decided")
            written.at_least(10)
        failed = [reader.status(one)[1] for one in names if reader.status(one)[0] == "failed"]
        if not failed or not all(failed):
            raise TrialError(f"files failed without a reason: {failed}")
        return outcome("parser that crashes or hangs", reader, written, failed=len(failed))


def clock(folder: Path, short: bool) -> Outcome:
    """The clock is set back by an hour, and forward again."""
    del short
    offset = folder / "offset"
    offset.write_text("0")
    with _Shifted(folder / "data", SETTINGS, offset) as server:
        with writing([server.url], server.key, pause=0.01) as written:
            for seconds in (-3600, 0, -7200, 60):
                written.at_least(10)
                _replace(offset, str(seconds))
            written.at_least(10)
        return outcome("clock going backwards", Reader(server.url, server.key), written)


TRIALS: dict[str, Trial] = {
    "kill": kill_service,
    "disk": full_disk,
    "embedder": slow_embedder,
    "poison": poison,
    "corrupt": partial(claim_check, "corrupt"),
    "missing": partial(claim_check, "missing"),
    "parser": parser,
    "clock": clock,
}


class _Shifted(Server):
    """A server whose clock is off by what a file says."""

    def __init__(self, data_dir: Path, environment: dict[str, str], offset: Path) -> None:
        super().__init__(data_dir, environment)
        self._offset = offset

    def _command(self) -> list[str]:
        _, *arguments = super()._command()
        return [sys.executable, "-c", CLOCK.format(path=str(self._offset)), *arguments]


async def _append(data: Path, topics: list[str], entries: list[Entry]) -> None:
    bus = await LogBus.open(data / "log", partitions=PARTITIONS, clock=SystemClock())
    for topic in topics:
        await bus.append(topic, entries)
    await bus.close()


@contextmanager
def _tmpfs(place: Path) -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: S603 - our own arguments
        raise NotHereError("needs a small tmpfs, which only root may mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607 - as above


def _fill(path: Path) -> None:
    """Until not a byte more fits."""
    with path.open("wb", buffering=0) as out:
        for size in (1024 * 1024, 4096):
            try:
                while True:
                    out.write(b"\0" * size)
            except OSError:
                continue


def cut(blobs: Path) -> set[Path]:
    """The claim checks of chunks, which the stage `embed` reads."""
    stored = (path for path in blobs.glob("*/*") if path.suffix != ".part")
    return {path for path in stored if path.read_bytes().startswith(b'[{"start":')}


def _chunks_of_the_large_one(blobs: Path) -> Path:
    until(lambda: bool(cut(blobs)), "the chunks of the large text stored")
    (blob,) = cut(blobs)
    return blob


def _upload(reader: Reader, file: tuple[str, bytes, str]) -> str:
    answer = reader.request("POST", f"/ns/{NAMESPACE}/document/file", files={"file": file})
    return str(answer.json()["id"])


def _kill_parser(pid: int) -> bool:
    """Kill a process of the server's that parses; whether one was there."""
    for child in psutil.Process(pid).children(recursive=True):
        if "extraction" in " ".join(child.cmdline()):
            child.send_signal(signal.SIGKILL)
            return True
    return False


def _replace(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


def command(server: Server, *words: str) -> None:
    """As an operator types it."""
    variables = {**os.environ, "RECOLLECT_URL": server.url, "RECOLLECT_API_KEY": server.key}
    subprocess.run([PROGRAM, *words], check=True, env=variables, capture_output=True)  # noqa: S603 - our own command
