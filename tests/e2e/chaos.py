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

from bench.server import Server
from tests.patience import PATIENCE


@dataclass
class Known:
    """What a client knows of one of its documents; `words` None: deleted."""

    words: list[str] | None
    label: str = ""
    memories: bool = False
    certain: bool = True


@dataclass
class Home:
    """A namespace of a client; `certain` False: an operation on all of it got no answer."""

    name: str
    documents: dict[str, Known] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    certain: bool = True


class UnansweredError(Exception):
    """The server went before it answered."""


class Client(threading.Thread):
    """Adds, appends, patches, deletes, forgets, deletes namespaces and moves them, by chance."""

    def __init__(self, server: Server, number: int, seed: int, stop: threading.Event) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.homes: list[Home] = []
        self.problem: str | None = None
        self.answered: dict[str, int] = {}
        self._number = number
        self._chance = random.Random(seed * 1000 + number)  # noqa: S311 - what to do is no secret
        self._end = stop
        self._count = 0
        headers = {"authorization": f"Bearer {server.key}"}
        self._http = httpx2.Client(base_url=server.url, headers=headers, timeout=PATIENCE)
        self.home = self._new_home()

    def run(self) -> None:
        actions: list[tuple[Callable[[], None], int]] = [
            (self.do_add, 40), (self.do_append, 20), (self.do_patch, 15), (self.do_label, 10),
            (self.do_delete, 12), (self.do_forget, 10), (self.do_delete_home, 2), (self.do_move_home, 2),
        ]  # fmt: skip
        names, weights = zip(*actions, strict=True)
        try:
            while not self._end.is_set() and self.problem is None:
                action = self._chance.choices(names, weights)[0]
                try:
                    action()
                    self.answered[action.__name__] = self.answered.get(action.__name__, 0) + 1
                except UnansweredError:
                    self._end.wait(0.05)
        finally:
            self._http.close()

    def _new_home(self) -> Home:
        self._count += 1
        home = Home(f"chaos-{self._number}-{self._count}")
        self.homes.append(home)
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

    def _living(self) -> str | None:
        living = [one for one, known in self.home.documents.items() if known.words and known.certain]
        return self._chance.choice(living) if living else None

    def _changing(self, one: str, call: Callable[[], Any]) -> Any:
        """A call about one document: until it is answered, nothing is certain."""
        known = self.home.documents[one]
        known.certain = False
        answer = call()
        known.certain = True
        return answer

    def _post(self, one: str, text: str, known: Known) -> Any:
        body = {"content": text, "id": one}
        body |= {"dreaming": "instant"} if known.memories else {"taskType": "superrag"}
        return self._call("POST", f"/ns/{self.home.name}/document", body)

    def do_add(self) -> None:
        word = self._word()
        one = f"doc-{word}"
        known = self.home.documents[one] = Known([word], memories=self._chance.random() < 0.5)
        self._changing(one, lambda: self._post(one, self._text(word), known))

    def do_append(self) -> None:
        if (one := self._living()) is None:
            return
        word, known = self._word(), self.home.documents[one]
        self._changing(one, lambda: self._post(one, self._text(word), known))
        known.words = [*(known.words or []), word]

    def do_patch(self) -> None:
        if (one := self._living()) is None:
            return
        word = self._word()
        path = f"/ns/{self.home.name}/document/{one}"
        self._changing(one, lambda: self._call("PATCH", path, {"content": self._text(word)}))
        self.home.documents[one].words = [word]

    def do_label(self) -> None:
        if (one := self._living()) is None:
            return
        word = self._word()
        path = f"/ns/{self.home.name}/document/{one}"
        self._changing(one, lambda: self._call("PATCH", path, {"metadata": {"label": word}}))
        self.home.documents[one].label = word

    def do_delete(self) -> None:
        if (one := self._living()) is None:
            return
        path = f"/ns/{self.home.name}/document"
        self._changing(one, lambda: self._call("DELETE", path, {"ids": [one]}))
        self.home.documents[one].words = None

    def do_forget(self) -> None:
        path = f"/ns/{self.home.name}/list/memories"
        found = self._call("POST", path, {})["memories"]
        if not found:
            return
        memory = self._chance.choice(found)
        answer = self._call("DELETE", f"/ns/{self.home.name}/memories", {"ids": [memory["id"]]})
        if answer["count"] == 1:
            self.home.forgotten.add(memory["id"])

    def do_delete_home(self) -> None:
        gone, self.home = self.home, self._new_home()
        if not any(known.certain for known in gone.documents.values()):
            return
        gone.certain = False
        self._call("DELETE", f"/ns/{gone.name}")
        gone.certain = True
        gone.documents = {one: Known(None) for one in gone.documents}

    def do_move_home(self) -> None:
        old, self.home = self.home, self._new_home()
        if not any(known.certain and known.words for known in old.documents.values()):
            return
        target = self._new_home()
        old.certain = target.certain = False
        self._call("DELETE", f"/ns/{old.name}?moveTo={target.name}")
        old.certain = target.certain = True
        target.documents, old.documents = old.documents, {one: Known(None) for one in old.documents}
        target.forgotten, old.forgotten = old.forgotten, set()


class Reader:
    """Asks the server what there is, for the comparison."""

    def __init__(self, server: Server) -> None:
        headers = {"authorization": f"Bearer {server.key}"}
        self._http = httpx2.Client(base_url=server.url, headers=headers, timeout=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def ok(self, method: str, path: str, body: object | None = None) -> Any:
        response = self._http.request(method, path, json=body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()

    def lag(self) -> int:
        return sum(self.ok("GET", "/ready")["lag"].values())

    def documents(self, namespace: str) -> list[Any]:
        found: list[Any] = []
        page, pages = 1, 1
        while page <= pages:
            path = f"/ns/{namespace}/list/documents?page={page}&limit=100&order=asc"
            answer = self.ok("POST", path, {"include": {"content": True}})
            found += answer["documents"]
            page, pages = page + 1, int(answer["pagination"]["totalPages"])
            assert page <= pages or answer["pagination"]["totalItems"] == len(found), "the count disagrees"
        return found

    def is_hidden(self, namespace: str, memory: str) -> bool:
        response = self._http.get(f"/ns/{namespace}/memories/{memory}")
        return response.status_code == 404 or response.json()["isForgotten"]


def difference(reader: Reader, home: Home) -> list[str]:
    """What is otherwise than the client of this namespace knows."""
    if not home.certain:
        return []
    listed = reader.documents(home.name)
    found = {document["id"]: document for document in listed}
    wrong = ["a document is listed twice"] if len(found) < len(listed) else []
    known = {one: document for one, document in home.documents.items() if document.certain}
    for one, document in known.items():
        wrong += _difference(one, document, found.get(one))
    unknown = found.keys() - home.documents.keys()
    wrong += [f"{one} is there and was never added" for one in unknown]
    back = [memory for memory in home.forgotten if not reader.is_hidden(home.name, memory)]
    wrong += [f"memory {memory} was forgotten and is back" for memory in back]
    return [f"{home.name}: {one}" for one in wrong]


def _difference(one: str, known: Known, found: Any) -> list[str]:
    if known.words is None:
        return [] if found is None else [f"{one} was deleted and is there"]
    if found is None:
        return [f"{one} is lost"]
    wrong = []
    said = [word for word in known.words if found["content"].count(f"says {word} is") != 1]
    if said or found["content"].count(" says ") != len(known.words):
        wrong.append(f"{one} should say {known.words} and says {found['content']!r}")
    if found["metadata"].get("label", "") != known.label:
        wrong.append(f"{one} should have the label {known.label!r} and has {found['metadata']}")
    state = (found["system"]["status"], found["system"]["dreamingStatus"])
    if state != ("done", "done"):
        wrong.append(f"{one} is {state}")
    return wrong
