"""What a new fact means for those that are known: nothing, or that one of them holds no longer.

Only `updates` is drawn here, and only within one slot: a false one hides truth, a missed one does not.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from itertools import islice

from pipeline.memory.attributes import Slot, contradicts
from schemas.events import Relation

MOST = 20
"""Older versions that a new one names. All are named, not only the last, so that the order of versions
survives when one in the middle is deleted with its document."""
_COARSE = re.compile("[0-9]{4}(-[0-9]{2})?")


@dataclass(frozen=True, slots=True)
class Known:
    """A fact in a slot. `when`: the time it speaks of. `pending`: (document, seq) until the table has it."""

    id: str
    space: str
    text: str
    slot: Slot | None
    when: datetime
    sources: tuple[str, ...]
    updates: tuple[str, ...] = ()
    is_latest: bool = True
    forgotten: bool = False
    pending: tuple[str, int] | None = None
    stated: tuple[str, ...] = ()
    """Of `updates`, what documents state; the rest follows from times."""
    replaced_by: tuple[str, ...] = ()


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


def judge(slot: Slot, when: datetime, known: Sequence[Known], *, returns: bool = False) -> Verdict:
    """Compare a fact with the others of its slot.

    What speaks of a later time is not replaced: it replaces the new fact. `returns`: the same words were
    true before and something else was in between.
    """
    newest_first = sorted(known, key=lambda one: one.when, reverse=True)
    older = (one for one in newest_first if one.when <= when and _replaces(slot, one.slot, returns=returns))
    newer = (one for one in newest_first if one.when > when and _replaces(one.slot, slot, returns=False))
    relations = tuple(
        Relation(kind="updates", target=one.id, why=why(one.slot, slot)) for one in islice(older, MOST)
    )
    return Verdict(relations, tuple(one.id for one in islice(newer, MOST)))


def _replaces(new: Slot | None, old: Slot | None, *, returns: bool) -> bool:
    if new is None or old is None:
        return False
    return contradicts(new, old) or (returns and new.key == old.key and new.value == old.value)


def why(old: Slot | None, new: Slot) -> str:
    """The reason of an update for people: the slot, the old value and the new."""
    before = old.value if old is not None else "?"
    return f"{new.attribute} of {new.subject}: {before} -> {new.value}"


def visible(known: Sequence[Known], document: str, said: Collection[str]) -> list[Known]:
    """What a document's facts are compared with: not what only its own earlier text said.

    `said`: ids that the present text has stated so far.
    """
    return [one for one in known if one.id in said or any(source != document for source in one.sources)]


def is_newest(when: datetime, known: Sequence[Known]) -> bool:
    """Whether nothing known speaks of a later time."""
    return all(one.when <= when for one in known)
