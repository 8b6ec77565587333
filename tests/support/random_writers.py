"""Clients that write all there is to write while their server is killed, and what must hold afterwards.

Each client has namespaces of its own and does one thing after another, so it knows what was acknowledged. A
call that got no answer may have happened or not: what it concerned is left out of the comparison, and the
invariants of the tables are checked all the same.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2

from bench.service_process import Server
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS


@dataclass
class ExpectedDocument:
    """A client's expectation of one of its documents; `words` None: deleted."""

    words: list[str] | None
    label: str = ""
    memories: bool = False
    certain: bool = True


@dataclass
class ExpectedNamespace:
    """A namespace of a client; `certain` False: an operation on all of it got no answer."""

    name: str
    documents: dict[str, ExpectedDocument] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    certain: bool = True


class UnansweredError(Exception):
    """The server went before it answered."""


class RandomWriter(threading.Thread):
    """Adds, appends, patches, deletes, forgets, deletes namespaces and moves them, by chance."""

    def __init__(self, server: Server, number: int, seed: int, stop: threading.Event) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.namespaces: list[ExpectedNamespace] = []
        self.problem: str | None = None
        self.acknowledged_calls: dict[str, int] = {}
        self._number = number
        self._random = random.Random(seed * 1000 + number)  # noqa: S311 - what to do is no secret
        self._stop_event = stop
        self._count = 0
        headers = {"authorization": f"Bearer {server.key}"}
        self._http = httpx2.Client(base_url=server.url, headers=headers, timeout=WAIT_TIMEOUT_SECONDS)
        self.namespace = self._new_namespace()

    def run(self) -> None:
        actions: list[tuple[Callable[[], None], int]] = [
            (self.do_add, 40), (self.do_append, 20), (self.do_patch, 15), (self.do_set_metadata, 10),
            (self.do_delete, 12), (self.do_forget, 10), (self.do_delete_namespace, 2),
            (self.do_move_namespace, 2),
        ]  # fmt: skip
        names, weights = zip(*actions, strict=True)
        try:
            while not self._stop_event.is_set() and self.problem is None:
                action = self._random.choices(names, weights)[0]
                try:
                    action()
                    self.acknowledged_calls[action.__name__] = self.acknowledged_calls.get(action.__name__, 0) + 1
                except UnansweredError:
                    self._stop_event.wait(0.05)
        finally:
            self._http.close()

    def _new_namespace(self) -> ExpectedNamespace:
        self._count += 1
        home = ExpectedNamespace(f"chaos-{self._number}-{self._count}")
        self.namespaces.append(home)
        return home

    def _word(self) -> str:
        self._count += 1
        return f"word{self._number}x{self._count}"

    def _text(self, word: str) -> str:
        return f"My project is called {word}. The note that says {word} is by client {self._number}."

    def _call(self, method: str, path: str, body: object | None = None) -> Any:
        try:
            response = self._http.request(method, path, json=body)
        except httpx2.TransportError as error:
            raise UnansweredError(str(error)) from error
        if not response.is_success:
            self.problem = f"{method} {path} {body}: {response.status_code} {response.text}"
            raise UnansweredError(self.problem)
        return response.json()

    def _random_live_document(self) -> str | None:
        living = [name for name, document in self.namespace.documents.items() if document.words and document.certain]
        return self._random.choice(living) if living else None

    def _call_uncertain(self, name: str, call: Callable[[], Any]) -> Any:
        """A call about one document: until it is answered, nothing is certain."""
        document = self.namespace.documents[name]
        document.certain = False
        answer = call()
        document.certain = True
        return answer

    def _post(self, name: str, text: str, document: ExpectedDocument) -> Any:
        body = {"content": text, "id": name}
        body |= {"dreaming": "instant"} if document.memories else {"taskType": "superrag"}
        return self._call("POST", f"/ns/{self.namespace.name}/document", body)

    def do_add(self) -> None:
        word = self._word()
        name = f"doc-{word}"
        document = self.namespace.documents[name] = ExpectedDocument([word], memories=self._random.random() < 0.5)
        self._call_uncertain(name, lambda: self._post(name, self._text(word), document))

    def do_append(self) -> None:
        if (name := self._random_live_document()) is None:
            return
        word, document = self._word(), self.namespace.documents[name]
        self._call_uncertain(name, lambda: self._post(name, self._text(word), document))
        document.words = [*(document.words or []), word]

    def do_patch(self) -> None:
        if (name := self._random_live_document()) is None:
            return
        word = self._word()
        path = f"/ns/{self.namespace.name}/document/{name}"
        self._call_uncertain(name, lambda: self._call("PATCH", path, {"content": self._text(word)}))
        self.namespace.documents[name].words = [word]

    def do_set_metadata(self) -> None:
        if (name := self._random_live_document()) is None:
            return
        word = self._word()
        path = f"/ns/{self.namespace.name}/document/{name}"
        self._call_uncertain(name, lambda: self._call("PATCH", path, {"metadata": {"label": word}}))
        self.namespace.documents[name].label = word

    def do_delete(self) -> None:
        if (name := self._random_live_document()) is None:
            return
        path = f"/ns/{self.namespace.name}/document"
        self._call_uncertain(name, lambda: self._call("DELETE", path, {"ids": [name]}))
        self.namespace.documents[name].words = None

    def do_forget(self) -> None:
        path = f"/ns/{self.namespace.name}/list/memories"
        found = self._call("POST", path, {})["memories"]
        if not found:
            return
        memory = self._random.choice(found)
        answer = self._call("DELETE", f"/ns/{self.namespace.name}/memories", {"ids": [memory["id"]]})
        if answer["count"] == 1:
            self.namespace.forgotten.add(memory["id"])

    def do_delete_namespace(self) -> None:
        old, self.namespace = self.namespace, self._new_namespace()
        if not any(document.certain for document in old.documents.values()):
            return
        old.certain = False
        self._call("DELETE", f"/ns/{old.name}")
        old.certain = True
        old.documents = {name: ExpectedDocument(None) for name in old.documents}

    def do_move_namespace(self) -> None:
        old, self.namespace = self.namespace, self._new_namespace()
        if not any(document.certain and document.words for document in old.documents.values()):
            return
        target = self._new_namespace()
        old.certain = target.certain = False
        self._call("DELETE", f"/ns/{old.name}?moveTo={target.name}")
        old.certain = target.certain = True
        target.documents, old.documents = (
            old.documents,
            {name: ExpectedDocument(None) for name in old.documents},
        )
        target.forgotten, old.forgotten = old.forgotten, set()


class StateReader:
    """Asks the server what there is, for the comparison."""

    def __init__(self, server: Server) -> None:
        headers = {"authorization": f"Bearer {server.key}"}
        self._http = httpx2.Client(base_url=server.url, headers=headers, timeout=WAIT_TIMEOUT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def request_ok(self, method: str, path: str, body: object | None = None) -> Any:
        response = self._http.request(method, path, json=body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()

    def consumer_lag(self) -> int:
        return sum(self.request_ok("GET", "/ready")["lag"].values())

    def list_documents(self, namespace: str) -> list[Any]:
        found: list[Any] = []
        page, pages = 1, 1
        while page <= pages:
            path = f"/ns/{namespace}/list/documents?page={page}&limit=100&order=asc"
            answer = self.request_ok("POST", path, {"include": {"content": True}})
            found += answer["documents"]
            page, pages = page + 1, int(answer["pagination"]["totalPages"])
            assert page <= pages or answer["pagination"]["totalItems"] == len(found), "the count disagrees"
        return found

    def is_hidden(self, namespace: str, memory: str) -> bool:
        response = self._http.get(f"/ns/{namespace}/memories/{memory}")
        return response.status_code == 404 or response.json()["isForgotten"]


def find_differences(reader: StateReader, namespace: ExpectedNamespace) -> list[str]:
    """Differences between the service and the client's expectation."""
    if not namespace.certain:
        return []
    listed = reader.list_documents(namespace.name)
    found = {document["id"]: document for document in listed}
    wrong = ["a document is listed twice"] if len(found) < len(listed) else []
    certain = {name: document for name, document in namespace.documents.items() if document.certain}
    for name, document in certain.items():
        wrong += _document_differences(name, document, found.get(name))
    unknown = found.keys() - namespace.documents.keys()
    wrong += [f"{name} is there and was never added" for name in unknown]
    back = [memory for memory in namespace.forgotten if not reader.is_hidden(namespace.name, memory)]
    wrong += [f"memory {memory} was forgotten and is back" for memory in back]
    return [f"{namespace.name}: {difference}" for difference in wrong]


def _document_differences(name: str, document: ExpectedDocument, found: Any) -> list[str]:
    if document.words is None:
        return [] if found is None else [f"{name} was deleted and is there"]
    if found is None:
        return [f"{name} is lost"]
    wrong = []
    wrong_words = [word for word in document.words if found["content"].count(f"says {word} is") != 1]
    if wrong_words or found["content"].count(" says ") != len(document.words):
        wrong.append(f"{name} should say {document.words} and says {found['content']!r}")
    if found["metadata"].get("label", "") != document.label:
        wrong.append(f"{name} should have the label {document.label!r} and has {found['metadata']}")
    state = (found["system"]["status"], found["system"]["dreamingStatus"])
    if state != ("done", "done"):
        wrong.append(f"{name} is {state}")
    return wrong
