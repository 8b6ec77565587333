"""A document's text to the facts it states: pure, in order, each once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import chain

from pipeline.memory.antecedents import antecedent, begins_with_pronoun, named, says_more
from pipeline.memory.facts import Fact, continued, facts
from pipeline.memory.sentences import sentences
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import Slot
from pipeline.memory.speakers import utterances
from pipeline.memory.utterance import Utterance
from pipeline.memory.voice import Voice
from pipeline.memory.whereabouts import is_unplaced, placed
from schemas.events import Relation

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
    dates: tuple[str, ...] = ()
    """When it happens: ISO 8601 days, months, years, or intervals `first/last`."""
    is_inference: bool = False
    relations: tuple[Relation, ...] = ()
    """What is known of its relations already, before it is compared with other facts."""
    by: str = "rules"
    """What found it: these, or a language model by its name."""


def drafts(text: str, today: date | None = None, *, assumed: bool = False) -> list[Draft]:
    """The facts of a document, as `drafting` finds them.

    `today`: the day it was written; without it, "yesterday" stays as it is. `assumed`: it only came in that
    day, so that it holds for chats and for what is said in the first person, not for a text of any age.

    >>> [draft.text for draft in drafts("Ann: I live in Rome. You too?\\nBob: I like Rome.")]
    ['Ann lives in Rome', 'Bob likes Rome']
    """
    return [one for one in drafting(text, today, assumed=assumed) if one is not None]


def drafting(text: str, today: date | None = None, *, assumed: bool = False) -> Iterator[Draft | None]:
    """The facts of a document, and None where a sentence ends: there others may come in between.

    A value that was stated, changed and stated again comes twice.
    """
    said = utterances(text)
    names = frozenset(one.speaker for one in said if one.speaker is not None)
    every = chain.from_iterable(
        _said(utterance, _voice(utterance, names, today, assumed=assumed)) for utterance in said
    )
    found = 0
    for draft in _unrepeated(every):
        yield draft
        found += draft is not None
        if found == MOST:
            return


def unrepeated(facts: Iterable[Draft]) -> Iterator[Draft]:
    """Each fact once, but for a value that comes again after another one."""
    return (one for one in _unrepeated(facts) if one is not None)


def _unrepeated(facts: Iterable[Draft | None]) -> Iterator[Draft | None]:
    seen: set[str] = set()
    values: dict[tuple[str, str], str] = {}
    for draft in facts:
        if draft is None:
            yield None
            continue
        key = " ".join(draft.text.casefold().split())
        if key in seen and not _changes(draft.slots, values):
            continue
        seen.add(key)
        values.update({slot.key: slot.value for slot in draft.slots if slot.single})
        yield draft


def _voice(utterance: Utterance, names: frozenset[str], today: date | None, *, assumed: bool) -> Voice:
    """A day that the document tells itself is not assumed."""
    told = utterance.on is not None
    return Voice(
        utterance.speaker, utterance.chat, names, utterance.on or today, assumed=assumed and not told
    )


def _said(utterance: Utterance, voice: Voice) -> Iterator[Draft | None]:
    """One by one, because a long text has more than are wanted; None after each sentence."""
    offset = utterance.start
    before: Fact | None = None
    who: str | None = None
    where: str | None = None
    for sentence in sentences(utterance.text, lines=utterance.chat):
        text, who = _about(sentence.text, who)
        text, where = placed(text, where)
        found = [fact for fact in facts(text, voice) if not is_unplaced(fact.text)]
        if not found and before is not None:
            more = continued(text, voice, before)
            found = [] if more is None else [more]
        before = found[-1] if found and not found[-1].continues else None
        for fact in found:
            yield Draft(
                fact.text,
                fact.is_static,
                None if offset is None else offset + sentence.start,
                None if offset is None else offset + sentence.end,
                slots(fact.text),
                tuple(when.written for when in fact.times),
            )
        yield None


def _about(sentence: str, who: str | None) -> tuple[str, str | None]:
    """The sentence with `he` and `she` named where it is clear, and whom they mean in the next one."""
    if who is None or not begins_with_pronoun(sentence):
        return sentence, antecedent(sentence)
    return named(sentence, who), who if says_more(sentence) else None


def _changes(slots: Iterable[Slot], values: dict[tuple[str, str], str]) -> bool:
    return any(slot.single and values.get(slot.key) != slot.value for slot in slots)
