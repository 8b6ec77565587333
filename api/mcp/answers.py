"""What the tools answer: a structure for programs, and the same in words for a model."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Literal

from api.queries.markdown import profile_markdown
from schemas.base import Answer
from schemas.http import profile
from schemas.http.keys import Role

TITLE = 120


class Told(Answer):
    """An answer that can be read aloud."""

    @abstractmethod
    def text(self) -> str:
        """The same in words, with the ids that a next call needs."""


class Source(Answer):
    """The document that a result comes from."""

    id: str
    title: str | None


class Hit(Answer):
    """One result; `similarity` is within 0 and 1."""

    id: str
    kind: Literal["memory", "passage"]
    text: str
    similarity: float
    updated_at: str
    source: Source | None


class Found(Told):
    """Results of a search, best first."""

    namespace: str
    results: list[Hit]

    def text(self) -> str:
        """A line of facts about each result, and its text."""
        if not self.results:
            return f"Nothing in {self.namespace} answers this."
        return "\n\n".join(f"[{at}] {_about(hit)}\n{hit.text}" for at, hit in enumerate(self.results, 1))


class Added(Told):
    """The document that will be remembered."""

    namespace: str
    id: str
    status: str

    def text(self) -> str:
        """What happens next."""
        return f"Kept in {self.namespace} as document {self.id}. In a moment it can be found."


class Match(Answer):
    """A memory that is, or would be, forgotten."""

    id: str
    memory: str


class Problem(Answer):
    """A memory that can't be forgotten."""

    id: str
    error: str


class Forgotten(Told):
    """`forgotten` is False after a dry run: then nothing has changed."""

    namespace: str
    forgotten: bool
    matches: list[Match]
    problems: list[Problem]

    def text(self) -> str:
        """What was, or would be, forgotten, and how to go on."""
        said = [self._heading()]
        said += [f"- {match.id}: {match.memory}" for match in self.matches]
        said += [f"- {problem.id}: {problem.error}" for problem in self.problems]
        if self.matches and not self.forgotten:
            said.append(
                "Nothing is forgotten yet. Ask the user, then call again with these ids and dryRun false."
            )
        return "\n".join(said)

    def _heading(self) -> str:
        if not self.matches:
            return f"No memory of {self.namespace} fits."
        return f"{'Forgotten' if self.forgotten else 'Would be forgotten'} in {self.namespace}:"


class Known(Told):
    """A profile; the newest and most telling facts come first."""

    namespace: str
    lasting: list[str]
    recent: list[str]
    buckets: dict[str, list[str]]

    def text(self) -> str:
        """A Markdown document."""

        def facts(texts: Iterable[str]) -> list[profile.ProfileFact]:
            return [profile.ProfileFact(id="", memory=text) for text in texts]

        buckets = {name: facts(texts) for name, texts in self.buckets.items()}
        shown = profile.Profile(static=facts(self.lasting), dynamic=facts(self.recent), buckets=buckets)
        return profile_markdown(self.namespace, shown).rstrip()


class ListedDocument(Answer):
    """A document without its text."""

    id: str
    title: str | None
    type: str
    status: str
    memories: int
    updated_at: str
    error: str | None


class Documents(Told):
    """A page of documents, newest first."""

    namespace: str
    documents: list[ListedDocument]
    page: int
    pages: int
    total: int

    def text(self) -> str:
        """A line per document."""
        lines = [
            f"Documents of {self.namespace}, page {self.page} of {max(self.pages, 1)} ({self.total} in all):"
        ]
        return "\n".join([*lines, *map(_entry, self.documents)])


class Document(Told):
    """A document and a part of its text; `next_offset` is where the rest begins."""

    namespace: str
    id: str
    title: str | None
    type: str
    status: str
    content: str
    total_characters: int
    next_offset: int | None
    memories: list[Match]
    updated_at: str

    def text(self) -> str:
        """The text between what is known about it and what was remembered of it."""
        parts = [
            f"{self.title or self.id} ({self.type}, {self.status}, {self.updated_at[:10]})",
            self.content,
        ]
        if self.next_offset is not None:
            left = self.total_characters - self.next_offset
            parts.append(f"[{left} more characters: call again with offset {self.next_offset}]")
        if self.memories:
            facts = [f"- {one.id}: {one.memory}" for one in self.memories]
            parts.append("\n".join(["Remembered of it:", *facts]))
        return "\n\n".join(parts)


class ListedNamespace(Answer):
    """A namespace and how much is in it."""

    namespace: str
    documents: int
    memories: int
    description: str | None


class Namespaces(Told):
    """A page of the namespaces that the key may read, newest first."""

    namespaces: list[ListedNamespace]
    page: int
    pages: int
    total: int

    def text(self) -> str:
        """A line per namespace."""
        if not self.namespaces:
            return "There is no namespace yet: adding a memory makes one."
        lines = [f"Namespaces, page {self.page} of {self.pages} ({self.total} in all):"]
        lines += [
            f"- {one.namespace}: {_documents(one.documents)}, {_memories(one.memories)}"
            f"{'' if one.description is None else f'. {one.description}'}"
            for one in self.namespaces
        ]
        return "\n".join(lines)


class Caller(Told):
    """The key in use. `namespaces`: names and prefixes (`team-a:*`) that it opens; null: all."""

    id: str
    name: str
    role: Role
    namespaces: list[str] | None
    expires_at: str | None
    default_namespace: str | None

    def text(self) -> str:
        """What may be done with the key."""
        may = {"read": "read", "write": "read and write", "admin": "read, write and administer"}[self.role]
        scope = "all namespaces" if self.namespaces is None else ", ".join(self.namespaces)
        ends = "" if self.expires_at is None else f", until {self.expires_at}"
        default = (
            "" if self.default_namespace is None else f" Without a name, {self.default_namespace} is meant."
        )
        return f"Key {self.name!r} ({self.id}) may {may} {scope}{ends}.{default}"


def _about(hit: Hit) -> str:
    known = f"{hit.kind} {hit.id} · {hit.similarity:.2f} · {hit.updated_at[:10]}"
    if hit.source is None:
        return known
    return f"{known} · from document {hit.source.id} ({(hit.source.title or 'untitled')[:TITLE]})"


def _entry(one: ListedDocument) -> str:
    state = f"{one.type}, {one.status}, {_memories(one.memories)}, {one.updated_at[:10]}"
    error = "" if one.error is None else f" {one.error}"
    return f"- {one.id}: {(one.title or 'untitled')[:TITLE]} ({state}){error}"


def _documents(number: int) -> str:
    return "1 document" if number == 1 else f"{number} documents"


def _memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number} memories"
