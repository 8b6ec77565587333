"""Memories as they were at a past moment: what was stated by then, and the versions of that. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.memory.conclusions import concluded, premises
from pipeline.memory.ledger import Facts
from pipeline.memory.settling import settling, standing_as
from pipeline.memory.statements import OVER, composed, statements_of
from pipeline.memory.versions import Standing
from pipeline.rows import MemoryRow, Statement


@dataclass(frozen=True, slots=True)
class Past:
    """The memories that were known. `withheld`: ids of those that somebody has had forgotten since."""

    rows: list[MemoryRow]
    withheld: frozenset[str]


def past(rows: Iterable[MemoryRow], moment: datetime, *, forgotten: bool = False) -> Past:
    """The memories of a namespace as they were at a moment, from all that it has now.

    What was forgotten since on request stays so, with the versions before it and what was concluded from
    them, unless `forgotten`; what was only over by its own words is there again.
    """
    now = {row.id: row for row in rows}
    stated = {
        one: some
        for one, row in now.items()
        if (some := [said for said in statements_of(row) if said.since <= moment])
    }
    unknown = now.keys() - stated.keys()
    then = {
        one: row
        for one, some in stated.items()
        if (row := composed(now[one], [_as_said(said, moment, unknown) for said in some])) is not None
    }
    standings = settling(Facts(), then)
    stood = {one: standing_as(row, standings.get(one)) for one, row in then.items()}
    known = {one: row for one, row in stood.items() if row is not None}
    withheld = frozenset() if forgotten else frozenset(_withheld(now) & known.keys())
    known |= {one: _hidden(known[one], now[one]) for one in withheld}
    return Past(list(_concluded(known, standings).values()), withheld)


def _as_said(one: Statement, moment: datetime, unknown: Collection[str]) -> Statement:
    """A statement without what came to it later. When it was repeated in between is not kept."""
    hidden = one.forgotten_at is not None and one.forgotten_at <= moment
    return replace(
        one,
        at=one.at if one.at <= moment else one.since,
        relations=tuple(relation for relation in one.relations if relation.target not in unknown),
        replaced_by=tuple(newer for newer in one.replaced_by if newer not in unknown),
        forgotten_at=one.forgotten_at if hidden else None,
        forget_reason=one.forget_reason if hidden else None,
    )


def _withheld(now: Mapping[str, MemoryRow]) -> set[str]:
    """What somebody wanted forgotten: those memories, and the versions before them."""
    found: set[str] = set()
    waiting = [row.id for row in now.values() if row.forgotten_at is not None and row.forget_reason != OVER]
    while waiting:
        one = waiting.pop()
        if one in found or one not in now:
            continue
        found.add(one)
        waiting += [relation.target for relation in now[one].relations if relation.kind == "updates"]
    return found


def _hidden(row: MemoryRow, now: MemoryRow) -> MemoryRow:
    """As forgotten; a version before what was is treated alike."""
    at = now.forgotten_at or now.updated_at
    return replace(row, forgotten_at=at, forget_reason=now.forget_reason, is_latest=False)


def _concluded(known: dict[str, MemoryRow], standings: Mapping[str, Standing]) -> dict[str, MemoryRow]:
    """Conclusions hold as far as their premises do; and so on."""
    conclusions = [one for one, row in known.items() if premises(row)]
    changed = True
    while changed:
        changed = False
        for one in conclusions:
            if (row := known.get(one)) is None:
                continue
            standing = standings.get(one)
            after = concluded(row, known, replaced=standing is not None and standing.replaced)
            if after is row:
                continue
            changed = True
            if after is None:
                del known[one]
            else:
                known[one] = after
    return known
