"""What a new fact means for those that are known: nothing, or that one of them holds no longer.

Only `updates` is drawn here, and only within one slot: a false one hides truth, a missed one does not.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from itertools import islice

from pipeline.memory.slots.slot import Slot, contradicts, repeats
from schemas.events import Relation

MOST = 20
"""Older versions that a new one names. All are named, not only the last, so that the order of versions
survives when one in the middle is deleted with its document."""
_COARSE = re.compile("[0-9]{4}(-[0-9]{2})?")


@dataclass(frozen=True, slots=True)
class Known:
    """A fact with slots. `when`: the time it speaks of. `pending`: (document, seq) until the table has it."""

    id: str
    space: str
    text: str
    slots: tuple[Slot, ...]
    when: datetime
    sources: tuple[str, ...]
    is_static: bool = False
    updates: tuple[str, ...] = ()
    is_latest: bool = True
    forgotten: bool = False
    pending: tuple[str, int] | None = None
    stated: tuple[str, ...] = ()
    """Of `updates`, what documents state; the rest follows from times."""
    replaced_by: tuple[str, ...] = ()
    premises: tuple[str, ...] = ()
    """What it was concluded from."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`relations` lead to older facts; `replaced_by` are ids of newer ones that were there first."""

    relations: tuple[Relation, ...] = ()
    replaced_by: tuple[str, ...] = ()


def moment(stated: str | None, otherwise: datetime) -> datetime:
    """The time of a fact: its document's date (ISO 8601, also a year or a month; UTC where no zone is given),
    or when it came in.

    >>> moment("2023-05-08", datetime(2026, 1, 1, tzinfo=UTC)).year
    2023
    """
    if not stated:
        return otherwise
    text = stated.strip()
    if _COARSE.fullmatch(text):
        text += "-01-01" if len(text) == 4 else "-01"
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    # At the ends of the calendar there is no room for zones, and none for what is counted on from there.
    if not MINYEAR < parsed.year < MAXYEAR:
        return otherwise
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def judge(slots: Sequence[Slot], when: datetime, known: Sequence[Known], *, returns: bool = False) -> Verdict:
    """Compare a fact with the others of its slots.

    What speaks of a later time is not replaced: it replaces the new fact. `returns`: the same words were
    true before and something else was in between.
    """
    newest_first = sorted(known, key=lambda one: one.when, reverse=True)
    older = (
        update(one.id, found)
        for one in newest_first
        if one.when <= when and (found := replaced(slots, one.slots, returns=returns))
    )
    newer = (one.id for one in newest_first if one.when > when and replaced(one.slots, slots))
    return Verdict(tuple(islice(older, MOST)), tuple(islice(newer, MOST)))


def replaced(new: Sequence[Slot], old: Sequence[Slot], *, returns: bool = False) -> tuple[Slot, Slot] | None:
    """The slots, newer and older, that can't both be true now; None where all can."""
    for ours in new:
        for theirs in old:
            if contradicts(ours, theirs) or (returns and repeats(ours, theirs)):
                return ours, theirs
    return None


def update(target: str, found: tuple[Slot, Slot]) -> Relation:
    """The relation to what holds no longer, with the slot and the two values that show it."""
    new, old = found
    slot = f"{new.attribute} of {new.subject}"
    return Relation(
        kind="updates",
        target=target,
        why=f"{slot}: {old.value} -> {new.value}",
        slot=slot,
        evidence=f"{old.value} -> {new.value}",
        score=certainty(new, old),
    )


def certainty(new: Slot, old: Slot) -> float:
    """How sure a contradiction is: least where two phrases merely differ.

    1: the old value is named, or one denies the other. 0.9: values that are exact. 0.8: others.
    """
    if new.replaces is not None or old.denies:
        return 1.0
    return 0.9 if "exact" in (new.kind, old.kind) or new.marked else 0.8


def visible(known: Sequence[Known], document: str, said: Collection[str]) -> list[Known]:
    """What a document's facts are compared with: not what only its own earlier text said.

    `said`: ids that the present text has stated so far.
    """
    return [one for one in known if one.id in said or any(source != document for source in one.sources)]


def is_newest(when: datetime, known: Sequence[Known]) -> bool:
    """Whether nothing known speaks of a later time."""
    return all(one.when <= when for one in known)
