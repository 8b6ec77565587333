"""A document's text to the facts it states: pure, in order, each once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.memory.facts import facts
from pipeline.memory.sentences import sentences
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import Slot
from pipeline.memory.speakers import Utterance, utterances

MOST = 1000
"""Facts of one document; a book is recalled by its passages."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact before it is known what it means for others; the span is that of its sentence."""

    text: str
    is_static: bool
    start: int | None
    end: int | None
    slots: tuple[Slot, ...]


def drafts(text: str) -> list[Draft]:
    """The facts of a document. A value that was stated, changed and stated again comes twice.

    >>> [draft.text for draft in drafts("Ann: I live in Rome. You too?\\nBob: I like Rome.")]
    ['Ann lives in Rome', 'Bob likes Rome']
    """
    found: list[Draft] = []
    seen: set[str] = set()
    values: dict[tuple[str, str], str] = {}
    for utterance in utterances(text):
        for draft in _said(utterance):
            key = " ".join(draft.text.casefold().split())
            if key in seen and not _changes(draft.slots, values):
                continue
            seen.add(key)
            values.update({slot.key: slot.value for slot in draft.slots if slot.single})
            found.append(draft)
            if len(found) == MOST:
                return found
    return found


def _said(utterance: Utterance) -> Iterator[Draft]:
    """One by one, because a long text has more than are wanted."""
    offset = utterance.start
    for sentence in sentences(utterance.text, lines=utterance.chat):
        for fact in facts(sentence.text, utterance.speaker, chat=utterance.chat):
            yield Draft(
                fact.text,
                fact.is_static,
                None if offset is None else offset + sentence.start,
                None if offset is None else offset + sentence.end,
                slots(fact.text),
            )


def _changes(slots: Iterable[Slot], values: dict[tuple[str, str], str]) -> bool:
    return any(slot.single and values.get(slot.key) != slot.value for slot in slots)
