"""Clients that remember what was acknowledged, and what is there of it when the fault is over."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from bench.http_request import request

WRITERS = 4
PATIENCE = 180.0
SAMPLE = 25
NAMESPACE = "chaos"


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Result of a trial; `lost` and `duplicates` must be 0.

    `refused`: answers other than success, by status; 0 stands for no answer. `dead_lettered` and
    `failed`: dead letters and failed documents, each with a reason; `redelivered`: found once their cause was gone.
    """

    fault: str
    acknowledged: int
    found: int
    duplicates: int
    recovery: float
    refused: dict[int, int] = field(default_factory=dict)
    dead_lettered: int = 0
    failed: int = 0
    redelivered: int = 0
    notes: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        return self.acknowledged - self.found


class TrialError(AssertionError):
    """Violated guarantee, or a trial that did not end in time."""


class Writer(threading.Thread):
    """Adds documents with words of their own to one of the servers, one after the other.

    Every second one that is not acknowledged is sent again until it is; the others may be there or not.
    """

    def __init__(
        self, server: tuple[str, str], namespace: str, number: int, stop: threading.Event, pause: float
    ) -> None:
        super().__init__(name=f"writer {number}", daemon=True)
        self.acknowledged: list[str] = []
        self.refused: Counter[int] = Counter()
        self.hints: Counter[str] = Counter()
        self.slowest = 0.0
        self.resumed = threading.Event()
        self.resumed.set()
        self._url, self._key = server
        self._path = f"/ns/{namespace}/document"
        self._number = number
        self._end = stop
        self._pause = pause

    def run(self) -> None:
        headers = {"authorization": f"Bearer {self._key}"}
        with httpx2.Client(base_url=self._url, headers=headers, timeout=30.0) as client:
            count = 0
            while not self._end.is_set():
                self.resumed.wait()
                count += 1
                while not self._add(client, f"word{self._number}x{count}") and not self._end.wait(0.1):
                    if count % 2:
                        break
                self._end.wait(self._pause)

    def _add(self, client: httpx2.Client, word: str) -> bool:
        body = {"content": f"The note that says {word} is kept.", "id": word, "dreaming": "instant"}
        began = time.monotonic()
        try:
            answer = client.post(self._path, json=body)
        except httpx2.TransportError:
            self.refused[0] += 1
            return False
        finally:
            self.slowest = max(self.slowest, time.monotonic() - began)
        if answer.is_success:
            self.acknowledged.append(word)
            return True
        self.refused[answer.status_code] += 1
        if "retry-after" in answer.headers:
            self.hints[answer.headers["retry-after"]] += 1
        return False


@dataclass
class WriteLoad:
    """Documents written during a fault."""

    writers: list[Writer]

    @property
    def acknowledged(self) -> list[str]:
        return [word for writer in self.writers for word in list(writer.acknowledged)]

    @property
    def refused(self) -> dict[int, int]:
        return dict(sum((writer.refused for writer in self.writers), Counter()))

    @property
    def retry_after_values(self) -> dict[str, int]:
        """The values of Retry-After that came with refusals."""
        return dict(sum((writer.hints for writer in self.writers), Counter()))

    @property
    def slowest(self) -> float:
        """Duration of the slowest response in seconds."""
        return max(writer.slowest for writer in self.writers)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Write nothing new in this block: on a slow machine, what is waited for would stay behind in the queue."""
        for writer in self.writers:
            writer.resumed.clear()
        try:
            yield
        finally:
            for writer in self.writers:
                writer.resumed.set()

    def wait_for_acknowledged(self, count: int) -> None:
        """Wait until so many more were acknowledged."""
        expected = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= expected, f"{count} more documents acknowledged")

    def wait_for_refusal(self, status: int | None = None) -> None:
        """Wait until somebody is refused, with this status if one is given."""
        wait_until(lambda: bool(self.refused if status is None else self.refused.get(status)), "a refusal")


@contextmanager
def write_load(urls: Sequence[str], key: str, pause: float = 0.0, namespace: str = NAMESPACE) -> Iterator[WriteLoad]:
    """Writers at work on these servers until the block ends."""
    stop = threading.Event()
    writers = [Writer((urls[number % len(urls)], key), namespace, number, stop, pause) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        yield WriteLoad(writers)
    finally:
        stop.set()
        for writer in writers:
            writer.join()


class ServiceReader:
    """Asks a server what there is."""

    def __init__(self, url: str, key: str, namespace: str = NAMESPACE) -> None:
        self.namespace = namespace
        self._url = url
        self._key = key

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """The answer, over a connection of its own."""
        return request(self._url, self._key, method, path, timeout=60.0, **options)

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The answer's JSON; an empty one while nobody answers."""
        try:
            answer = self.request(method, path, json=body, **options)
        except httpx2.TransportError:
            return {}
        return answer.json() if answer.is_success else {}

    def listed(self, kind: str) -> list[Any]:
        """Every item, oldest first."""
        items: list[Any] = []
        page, pages = 1, 1
        while page <= pages:
            path = f"/ns/{self.namespace}/list/{kind}?page={page}&limit=100&order=asc"
            answer = self.ask("POST", path, {})
            items += answer.get(kind, [])
            page, pages = page + 1, int(answer.get("pagination", {}).get("totalPages", 0))
        return items

    def dead_letters(self) -> list[Any]:
        return list(self.ask("GET", "/admin/dlq?limit=1000").get("deadLetters", []))

    def status(self, document: str) -> tuple[str, str | None]:
        """A document's status, and the reason where it failed."""
        found = self.ask("GET", f"/ns/{self.namespace}/document/{document}")
        failed = {
            document["id"]: document["error"] for document in self.ask("GET", "/admin/failed").get("documents", [])
        }
        return found.get("system", {}).get("status", "unknown"), failed.get(document)

    def lag(self, stage: str) -> int | None:
        """Records that a stage has not processed yet; None while nobody answers."""
        lag: dict[str, int] = self.ask("GET", "/admin/status").get("lag") or {}
        return lag.get(f"recollect.{stage}")

    def has_chunks(self, document: str) -> bool:
        """Return whether a document is found by its words."""
        answer = self.ask("GET", f"/ns/{self.namespace}/document/{document}?include=chunks")
        return bool(answer.get("chunks"))

    def is_found(self, word: str) -> bool:
        """Return whether a search for the word finds its document exactly once."""
        body = {"query": word, "searchMode": "chunks", "threshold": 0, "limit": 3}
        results = self.ask("POST", f"/ns/{self.namespace}/search", body).get("results", [])
        return sum(word in _words(result.get("chunk") or "") for result in results) == 1

    def is_settled(self, words: Sequence[str]) -> bool:
        """Return whether these documents are all done and nothing is left to process."""
        lag = self.ask("GET", "/admin/status").get("lag")
        if lag is None or any(lag.values()):
            return False
        done = {document["id"] for document in self.listed("documents") if document["system"]["status"] == "done"}
        return done >= set(words)


def wait_until(good: Callable[[], bool], what: str) -> float:
    """Wait for it, asking for a fifth of the time; how many seconds it took. TrialError after `PATIENCE`."""
    began = asked = time.monotonic()
    while not good():
        if time.monotonic() - began > PATIENCE:
            raise TrialError(f"{what} did not happen within {PATIENCE:.0f} s")
        time.sleep(max(0.05, 4 * (time.monotonic() - asked)))
        asked = time.monotonic()
    return time.monotonic() - began


def assess_outcome(
    fault: str, reader: ServiceReader, written: WriteLoad, recovery_start: float | None = None, **more: Any
) -> TrialOutcome:
    """Wait until everything is as it should be, count, and say how long it took.

    `gone`: when the cause was, by the monotonic clock; None: now.
    """
    words = written.acknowledged
    recovery_start = time.monotonic() if recovery_start is None else recovery_start
    wait_until(lambda: reader.is_settled(words), f"{fault}: everything acknowledged is done")
    recovery = time.monotonic() - recovery_start
    listed = Counter(document["id"] for document in reader.listed("documents"))
    occurrences = Counter(word for chunk in reader.listed("chunks") for word in _words(chunk["content"]))
    twice = {word for word in occurrences.keys() | listed.keys() if listed[word] > 1 or occurrences[word] > 1}
    half = sorted(word for word in listed if word.startswith("word") and not occurrences[word])
    if half or occurrences.keys() - listed.keys():
        raise TrialError(f"{fault}: half done: {half}, {sorted(occurrences.keys() - listed.keys())}")
    found = [word for word in words if listed[word] and occurrences[word]]
    missed = [word for word in found[:: max(1, len(found) // SAMPLE)] if not reader.is_found(word)]
    return TrialOutcome(
        fault=fault,
        acknowledged=len(words),
        found=len(found) - len(missed),
        duplicates=len(twice),
        recovery=recovery,
        refused=written.refused,
        **more,
    )


def _words(content: str) -> list[str]:
    return [word for word in content.split() if word.startswith("word") and "x" in word]
