"""Clients that change and read a few documents at once, and keep a history of it."""

import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2

from bench.history_checker.history import FinalState, History, Operation, OperationKind, Sight
from bench.history_checker.service_progress import ServiceProgress

REQUEST_TIMEOUT_SECONDS = 30.0
MAX_POLL_SECONDS = 1.0
"""Longest pause between two looks whether something is done; pauses double."""
REPEATS = 30
"""Attempts of a request that is refused or gets no answer: the same request each time."""
REPEAT_PAUSE_SECONDS = 0.5
SETTLE_SECONDS = 60.0
"""Time without anything to do after which a document that is not processed counts as stuck."""
MAX_SETTLE_SECONDS = 1800.0
"""Time after which it counts as stuck in any case."""
OK = 200
NOT_FOUND = 404
REFUSED = 503
KINDS: tuple[OperationKind, ...] = ("add", "patch_content", "patch_metadata", "delete", "read", "list")
WEIGHTS = (5, 3, 5, 1, 6, 2)
MOVE_FOLLOWERS = 2
"""Clients of a history that wait until its content was moved, the one that moves it included."""
MOVE_SECONDS = 5.0
"""Time for which these clients wait."""
OPERATIONS_GROUP = "recollect.operations"
INCLUDE_DOCUMENTS = {"include": {"documents": True}}
SEARCH_DELAY_SECONDS = 20.0
"""Time in which a search through another process has to show a change."""
STATEMENT = "I keep the key of the cellar in the attic."
_Request = tuple[str, str, Any]
"""Method, path in the namespace, and body."""


@dataclass(frozen=True, slots=True)
class Size:
    """Clients of a history, operations of each, and documents between them."""

    clients: int = 4
    operations: int = 10
    documents: int = 2
    with_moves: bool = True
    """Move the content of every second history to another namespace while it runs."""


def open_client(key: str) -> httpx2.Client:
    """Return a client for the histories that run one after the other; opening one loads certificates for 25 ms."""
    return httpx2.Client(headers={"authorization": f"Bearer {key}"}, timeout=REQUEST_TIMEOUT_SECONDS)


class HistoryRunner:
    """Runs one history against the API processes at these addresses; client n speaks to each in turn."""

    def __init__(
        self,
        urls: Sequence[str],
        client: httpx2.Client,
        progress: ServiceProgress,
        *,
        namespace: str,
        seed: int,
        size: Size,
    ) -> None:
        self._urls = urls
        self._client = client
        self._progress = progress
        self._seed = seed
        self._size = size
        self.history = History(namespace)

    def run(self) -> None:
        """Run all clients."""
        with ThreadPoolExecutor(self._size.clients) as threads:
            for operations in threads.map(self._run_client, range(self._size.clients)):
                self.history.operations += operations

    def settle(self) -> None:
        """Wait until every document is processed, read what is left, and have a statement remembered and forgotten.

        Apart from `run`: on a busy machine a process that is killed all the time does not come to an end.
        """
        if any(operation.kind == "move" for operation in self.history.operations):
            self.history.is_moved = self._wait_for_the_move()
        self.history.found = self._read_final_states(is_moved=False)
        if self.history.is_moved:
            self.history.found_moved = self._read_final_states(is_moved=True)
        self._forget()

    def run_and_settle(self) -> None:
        """Run all clients, then wait for the end."""
        self.run()
        self.settle()

    def _read_final_states(self, *, is_moved: bool) -> list[str]:
        """Read every document when it is processed; returns the ids of those that a search finds."""
        for number in range(self._size.documents):
            self.history.final.append(self._settled(f"d{number}", is_moved=is_moved))
        query = {
            "query": "journal",
            "searchMode": "chunks",
            "threshold": 0,
            "limit": 100,
            "include": {"documents": True},
        }
        return _document_ids(self._send(0, ("POST", "/search", query), namespace=self._name(is_moved=is_moved)))

    def _name(self, *, is_moved: bool) -> str:
        return f"{self.history.namespace}{'-moved' if is_moved else ''}"

    def _wait_for_the_move(self) -> bool:
        """Wait until the stage of moves has handled every request; return whether this one was among them."""
        began, pauses = time.monotonic(), _growing_pauses()
        # That the target is there says nothing: it is made before the content is moved.
        while self._progress.is_waiting(OPERATIONS_GROUP, began) and not self._is_stuck(began):
            time.sleep(next(pauses))
        answer = None
        while answer is None or answer.status_code not in {OK, NOT_FOUND}:
            # A process that is started again on a busy machine takes longer than a request is repeated.
            answer = self._send(0, ("GET", "", None), namespace=self._name(is_moved=True))
        return answer.status_code == OK

    def _run_client(self, number: int) -> list[Operation]:
        random_choice = random.Random(f"{self._seed}/{number}")
        operations = []
        for step in range(self._size.operations):
            kind = random_choice.choices(KINDS, WEIGHTS)[0]
            if self._is_moving and number < MOVE_FOLLOWERS and step == self._size.operations // 2:
                if number:
                    self._wait_until_moved()
                else:
                    kind = "move"
            document = f"d{random_choice.randrange(self._size.documents)}"
            api = random_choice.randrange(len(self._urls))
            operation = Operation(number, kind, document, f"t{number}x{step}", time.monotonic())
            self._perform(api, operation)
            operation.ended = time.monotonic()
            if kind == "move":
                self._wait_until_moved()
            operations.append(operation)
        return operations

    @property
    def _is_moving(self) -> bool:
        return self._size.with_moves and bool(self._seed % 2)

    def _wait_until_moved(self) -> None:
        """Wait a while for the move, to write to the namespace that begins anew; the other clients race with it."""
        deadline, pauses = time.monotonic() + MOVE_SECONDS, _growing_pauses()
        while True:
            answer = self._send(0, ("GET", "", None), namespace=self._name(is_moved=True))
            if (answer is not None and answer.status_code == OK) or time.monotonic() > deadline:
                return
            time.sleep(next(pauses))

    def _perform(self, api: int, operation: Operation) -> None:
        token, path = operation.token, f"/document/{operation.document}"
        metadata = {token: operation.client}
        requests: dict[OperationKind, _Request] = {
            "add": (
                "POST",
                "/document",
                {"id": operation.document, "content": f"Line {token} of the journal.", "metadata": metadata},
            ),
            "patch_content": (
                "PATCH",
                path,
                {"content": f"Page {token} of the journal.", "metadata": metadata},
            ),
            "patch_metadata": ("PATCH", path, {"metadata": metadata}),
            "delete": ("DELETE", "/document", {"ids": [operation.document]}),
            "read": ("GET", path, None),
            "list": ("POST", "/list/documents?limit=100", {}),
            "move": ("DELETE", f"?moveTo={self._name(is_moved=True)}", None),
        }
        # A move that is repeated would move what was written since.
        attempts = 1 if operation.kind == "move" else REPEATS
        answer = self._send(api, requests[operation.kind], operation, attempts=attempts)
        operation.status = None if answer is None else answer.status_code
        if answer is None:
            return
        is_stale = "x-recollect-stale" in answer.headers
        if operation.kind == "read" and answer.status_code in {OK, NOT_FOUND}:
            shown = answer.json().get("metadata") or {} if answer.status_code == OK else None
            operation.sights.append(Sight(operation.document, shown, is_stale))
        elif operation.kind == "list" and answer.status_code == OK:
            shown_by_id = {item["id"]: item.get("metadata") or {} for item in answer.json()["documents"]}
            for number in range(self._size.documents):
                operation.sights.append(Sight(f"d{number}", shown_by_id.get(f"d{number}"), is_stale))

    def _send(
        self,
        api: int,
        request: _Request,
        operation: Operation | None = None,
        *,
        namespace: str | None = None,
        attempts: int = REPEATS,
    ) -> httpx2.Response | None:
        """Send a request, and again while it is refused or gets no answer; None if that never ends.

        A read is timed from its last attempt: earlier ones told the client nothing.
        """
        method, path, body = request
        for attempt in range(attempts):
            url = f"{self._urls[(api + attempt) % len(self._urls)]}/ns/{namespace or self.history.namespace}{path}"
            if operation is not None:
                operation.attempts = attempt + 1
                if method == "GET" or path.startswith("/list"):
                    operation.started = time.monotonic()
            try:
                answer = self._client.request(method, url, json=body)
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code < REFUSED:
                return answer
            time.sleep(REPEAT_PAUSE_SECONDS)
        return None

    def _settled(self, document: str, *, is_moved: bool) -> FinalState:
        began, pauses = time.monotonic(), _growing_pauses()
        namespace = self._name(is_moved=is_moved)
        while True:
            answer = self._send(0, ("GET", f"/document/{document}", None), namespace=namespace)
            if answer is not None and answer.status_code == NOT_FOUND:
                return FinalState(document, None, {}, "", is_moved)
            shown = answer.json() if answer is not None and answer.status_code == OK else {}
            status = shown.get("system", {}).get("status", "unknown")
            if status in {"done", "failed"} or self._is_stuck(began):
                content = shown.get("content") or ""
                return FinalState(document, status, shown.get("metadata") or {}, content, is_moved)
            time.sleep(next(pauses))

    def _is_stuck(self, began: float) -> bool:
        """Tell whether what is waited for since then will not come: a busy machine is late, and not stuck."""
        waited = time.monotonic() - began
        return waited > MAX_SETTLE_SECONDS or min(waited, self._progress.idle_seconds()) > SETTLE_SECONDS

    def _forget(self) -> None:
        """Have a statement remembered, forget it through one process, and look for it through every one."""
        body = {"id": "statement", "content": STATEMENT, "dreaming": "instant"}
        self._send(0, ("POST", "/document", body))
        began = time.monotonic()
        while not (ids := self._live_memories(0)):
            if self._is_stuck(began):
                self.history.is_unremembered = True
                return
            time.sleep(REPEAT_PAUSE_SECONDS)
        first = self._seed % len(self._urls)
        answer = self._send(first, ("DELETE", "/memories", {"ids": ids}))
        if answer is None or answer.status_code != OK:
            return
        for api in range(len(self._urls)):
            still = set(ids) & set(self._live_memories(api))
            self.history.remembered += [f"memory {id_} is still listed by process {api}" for id_ in still]
            # A search of another process follows the tables a moment later.
            deadline = time.monotonic() + (0.0 if api == first else SEARCH_DELAY_SECONDS)
            while (again := self._recalled(api, ids)) and time.monotonic() < deadline:
                time.sleep(REPEAT_PAUSE_SECONDS)
            self.history.remembered += [f"memory {id_} is still found by process {api}" for id_ in again]

    def _recalled(self, api: int, ids: Sequence[str]) -> list[str]:
        """Return which of these memories a search finds."""
        found = self._send(api, ("POST", "/search", {"query": STATEMENT, "searchMode": "memories"}))
        results = found.json()["results"] if found is not None and found.status_code == OK else []
        return [result["id"] for result in results if result["id"] in ids]

    def _live_memories(self, api: int) -> list[str]:
        answer = self._send(api, ("POST", "/list/memories?limit=100", {}))
        listed = answer.json()["memories"] if answer is not None and answer.status_code == OK else []
        return [memory["id"] for memory in listed if not memory["isForgotten"]]


def _growing_pauses() -> Iterator[float]:
    """Yield pauses between looks for ever: many that wait must not keep the service from what they wait for."""
    pause = 0.05
    while True:
        yield pause
        pause = min(2 * pause, MAX_POLL_SECONDS)


def _document_ids(answer: httpx2.Response | None) -> list[str]:
    if answer is None or answer.status_code != OK:
        return []
    results = answer.json()["results"]
    return sorted({result["included"]["document"]["id"] for result in results})
