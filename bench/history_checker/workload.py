"""Clients that change and read a few documents at once, and keep a history of it."""

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2

from bench.history_checker.history import FinalState, History, Operation, OperationKind, Sight

REQUEST_TIMEOUT_SECONDS = 30.0
REPEATS = 30
"""Attempts of a request that is refused or gets no answer: the same request each time."""
REPEAT_PAUSE_SECONDS = 0.5
SETTLE_SECONDS = 120.0
"""Time after which a document that is still being processed counts as stuck."""
OK = 200
NOT_FOUND = 404
REFUSED = 503
KINDS: tuple[OperationKind, ...] = ("add", "patch_content", "patch_metadata", "delete", "read", "list")
WEIGHTS = (5, 3, 5, 1, 6, 2)
_Request = tuple[str, str, Any]
"""Method, path in the namespace, and body."""


@dataclass(frozen=True, slots=True)
class Size:
    """Clients of a history, operations of each, and documents between them."""

    clients: int = 4
    operations: int = 10
    documents: int = 2


class HistoryRunner:
    """Runs one history against the API processes at these addresses; client n speaks to each in turn."""

    def __init__(self, urls: Sequence[str], key: str, namespace: str, seed: int, size: Size) -> None:
        self._urls = urls
        self._headers = {"authorization": f"Bearer {key}"}
        self._seed = seed
        self._size = size
        self.history = History(namespace)

    def run(self) -> History:
        """Run all clients, wait until every document is processed, and read what is left."""
        with ThreadPoolExecutor(self._size.clients) as threads:
            for operations in threads.map(self._run_client, range(self._size.clients)):
                self.history.operations += operations
        with httpx2.Client(headers=self._headers, timeout=REQUEST_TIMEOUT_SECONDS) as client:
            for number in range(self._size.documents):
                self.history.final.append(self._settled(client, f"d{number}"))
            query = f"journal of {self.history.namespace}"
            answer = self._send(client, 0, ("POST", "/search", {"query": query, "include": {"documents": True}}))
            self.history.found[query] = _document_ids(answer)
        return self.history

    def _run_client(self, number: int) -> list[Operation]:
        random_choice = random.Random(f"{self._seed}/{number}")
        operations = []
        with httpx2.Client(headers=self._headers, timeout=REQUEST_TIMEOUT_SECONDS) as client:
            for step in range(self._size.operations):
                kind = random_choice.choices(KINDS, WEIGHTS)[0]
                document = f"d{random_choice.randrange(self._size.documents)}"
                api = random_choice.randrange(len(self._urls))
                operation = Operation(number, kind, document, f"t{number}x{step}", time.monotonic())
                self._perform(client, api, operation)
                operation.ended = time.monotonic()
                operations.append(operation)
        return operations

    def _perform(self, client: httpx2.Client, api: int, operation: Operation) -> None:
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
        }
        answer = self._send(client, api, requests[operation.kind], operation)
        operation.status = None if answer is None else answer.status_code
        if operation.kind == "read" and answer is not None and answer.status_code in {OK, NOT_FOUND}:
            shown = answer.json().get("metadata") or {} if answer.status_code == OK else None
            operation.sights.append(Sight(operation.document, shown))
        elif operation.kind == "list" and answer is not None and answer.status_code == OK:
            shown_by_id = {item["id"]: item.get("metadata") or {} for item in answer.json()["documents"]}
            for number in range(self._size.documents):
                operation.sights.append(Sight(f"d{number}", shown_by_id.get(f"d{number}")))

    def _send(
        self,
        client: httpx2.Client,
        api: int,
        request: _Request,
        operation: Operation | None = None,
    ) -> httpx2.Response | None:
        """Send a request, and again while it is refused or gets no answer; None if that never ends.

        A read is timed from its last attempt: earlier ones told the client nothing.
        """
        method, path, body = request
        for attempt in range(REPEATS):
            url = f"{self._urls[(api + attempt) % len(self._urls)]}/ns/{self.history.namespace}{path}"
            if operation is not None:
                operation.attempts = attempt + 1
                if method == "GET" or path.startswith("/list"):
                    operation.started = time.monotonic()
            try:
                answer = client.request(method, url, json=body)
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code < REFUSED:
                return answer
            time.sleep(REPEAT_PAUSE_SECONDS)
        return None

    def _settled(self, client: httpx2.Client, document: str) -> FinalState:
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            answer = self._send(client, 0, ("GET", f"/document/{document}", None))
            if answer is not None and answer.status_code == NOT_FOUND:
                return FinalState(document, None, {}, "")
            shown = answer.json() if answer is not None and answer.status_code == OK else {}
            status = shown.get("system", {}).get("status", "unknown")
            if status in {"done", "failed"} or time.monotonic() > deadline:
                return FinalState(document, status, shown.get("metadata") or {}, shown.get("content") or "")
            time.sleep(0.1)


def _document_ids(answer: httpx2.Response | None) -> list[str]:
    if answer is None or answer.status_code != OK:
        return []
    results = answer.json()["results"]
    documents = [document for result in results for document in result.get("documents") or []]
    return sorted({document["id"] for document in documents})
