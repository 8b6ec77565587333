"""Conversations as documents: a transcript of `Name: text` for each conversation and day, so that dates are kept."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from app.importers.imported_item import ImportedItem, LeftOut, Read, check, stable_id, to_metadata
from pipeline.runtime.batches import batches_within
from schemas.base import Metadata

MAX_PART_CHARS = 100_000
"""A longer day is split between messages: a document of a book's length helps nobody."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message; `at`: ISO date or time, local where the source names no zone."""

    speaker: str
    text: str
    at: str | None = None

    @property
    def day(self) -> str:
        """Calendar day of the message, empty if unknown."""
        return (self.at or "")[:10]

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text.strip()}"


def conversation_documents(
    source: str, conversation: str, title: object, messages: Iterable[ChatMessage | LeftOut]
) -> Read:
    """Yield what a conversation with an assistant leaves out, then its documents."""
    left_out: list[LeftOut] = []
    spoken = list(_spoken(messages, left_out))
    yield from left_out
    if not spoken:
        yield LeftOut(conversation, "it holds no text of a user or an assistant")
    metadata = to_metadata({"source": source, "conversation": conversation, "title": title})
    yield from transcript_documents(source, conversation, spoken, metadata)


def transcript_documents(
    source: str,
    conversation: str,
    messages: Iterable[ChatMessage | LeftOut],
    metadata: Metadata,
    namespace: str | None = None,
    *,
    seen: Counter[str] | None = None,
) -> Read:
    """Yield a document for each day of a conversation, and for each part of a very long day.

    Its date is that of its first message. Messages without a time count to the day before them. What is left out comes
    after the document that it was found before. `seen` numbers the parts of a day: a reader whose conversations come
    in several pieces gives the same one for all of them.
    """
    seen = Counter() if seen is None else seen
    left_out: list[LeftOut] = []
    for day, part in groupby(_with_day(_spoken(messages, left_out)), key=lambda pair: pair[0]):
        spoken = (message for _, message in part)
        for chosen in batches_within(spoken, lambda message: len(message.text), MAX_PART_CHARS):
            place = [conversation, day] if day else [conversation]
            name = stable_id(source, *place)
            seen[name] += 1
            if (number := seen[name]) > 1:
                name = stable_id(source, *place, number)
            text = "\n".join(message.line for message in chosen)
            date = next((message.at for message in chosen if message.at), day or None)
            yield check(ImportedItem(name, text, date, metadata, namespace))
            yield from left_out
            left_out.clear()
    yield from left_out


def _spoken(messages: Iterable[ChatMessage | LeftOut], left_out: list[LeftOut]) -> Iterator[ChatMessage]:
    for message in messages:
        if isinstance(message, LeftOut):
            left_out.append(message)
        else:
            yield message


def _with_day(messages: Iterable[ChatMessage]) -> Iterator[tuple[str, ChatMessage]]:
    day = ""
    for message in messages:
        day = message.day or day
        yield day, message
