"""What changes of memories mean for versions: pure, on the facts around them."""

from collections.abc import Mapping
from dataclasses import replace

from pipeline.memory.ledger import Facts, known
from pipeline.memory.relations import Known, replaced, update
from pipeline.memory.statements import stated_relations
from pipeline.memory.versions import Node, Standing, family, standings
from pipeline.rows import MemoryRow
from schemas.events import Relation

LATER = "it speaks of a later time"
"""Where neither text says any more what they share."""


def settling(facts: Facts, planned: Mapping[str, MemoryRow | None]) -> dict[str, Standing]:
    """The standings of all families in which something changes.

    `facts`: those around them, as they are; `planned`: the rows as they will be.
    """
    plan = _Plan(facts, {one: None if row is None else known(row) for one, row in planned.items()})
    members = family(plan.seeds(), plan.node, plan.connected)
    found = standings({one: here for one in members if (here := plan.node(one)) is not None})
    return {one: replace(standing, updates=plan.relations(one)) for one, standing in found.items()}


def standing_as(row: MemoryRow | None, standing: Standing | None) -> MemoryRow | None:
    """A row with its version, whether it is the latest, and its relations."""
    if row is None:
        return None
    version = standing.version if standing is not None else 1
    latest = row.forgotten_at is None and not (standing is not None and standing.replaced)
    relations = _relations(row, standing)
    if (version, latest, relations) == (row.version, row.is_latest, row.relations):
        return row
    return replace(row, version=version, is_latest=latest, relations=relations)


def _relations(row: MemoryRow, standing: Standing | None) -> tuple[Relation, ...]:
    """What was stated, as far as the times of facts have not turned it, and what follows from them."""
    if standing is None or not row.statements:
        return row.relations
    held = {one.target for one in standing.updates}
    own = tuple(one for one in stated_relations(row) if one.kind != "updates" or one.target in held)
    stated = {one.target for one in own if one.kind == "updates"}
    return (*own, *(one for one in standing.updates if one.target not in stated))


def _only_ends(one: Known, other: Known) -> bool:
    """Whether one replaces the other and could not be replaced by it.

    `Lives in Berlin` ends `no longer lives in Rome`; but who no longer lives in Rome may live in Berlin.
    """
    return replaced(one.slots, other.slots) is not None and replaced(other.slots, one.slots) is None


class _Plan:
    """The facts as they will be: those that change, and the others as they are."""

    def __init__(self, around: Facts, facts: Mapping[str, Known | None]) -> None:
        self._around = around
        self._facts = facts
        self._pointing: dict[str, set[str]] = {}
        for fact in facts.values():
            for target in (*fact.stated, *fact.replaced_by) if fact is not None else ():
                self._pointing.setdefault(target, set()).add(fact.id if fact is not None else "")

    def seeds(self) -> list[str]:
        """The changed facts that versions may depend on."""
        return [one for one in self._facts if self.connected(one)]

    def node(self, one: str) -> Node | None:
        fact = self._fact(one)
        return None if fact is None else Node(fact.when, self._updates(fact))

    def relations(self, one: str) -> tuple[Relation, ...]:
        """What this fact updates, with the reason as if it had been formed after those."""
        fact = self._fact(one)
        return tuple(self._update(one, target) for target in self._updates(fact)) if fact else ()

    def _updates(self, fact: Known) -> tuple[str, ...]:
        """Of the facts that can't be true beside this one, those it replaces; and those that are gone."""
        there = {target for target in self._named(fact.id) if self._beats(fact, self._fact(target))}
        gone = {target for target in fact.stated if self._fact(target) is None}
        return tuple(sorted(there | gone))

    def _beats(self, fact: Known, other: Known | None) -> bool:
        """What speaks of the later time replaces the other; of one time, what was said to."""
        if other is None or other.id == fact.id:
            return False
        said = other.id in fact.stated or fact.id in other.replaced_by
        answered = fact.id in other.stated or other.id in fact.replaced_by
        if not (said or answered):
            return False
        if fact.when != other.when:
            return fact.when > other.when and (said or not _only_ends(other, fact))
        return said if said != answered else fact.id > other.id

    def _named(self, one: str) -> set[str]:
        """Facts of which either says that the two can't both be true."""
        fact = self._fact(one)
        own = (*fact.stated, *fact.replaced_by) if fact is not None else ()
        return {*own, *self._pointing.get(one, ()), *self._around.naming(one)}

    def _update(self, one: str, target: str) -> Relation:
        new, old = self._fact(one), self._fact(target)
        found = replaced(new.slots, old.slots) if new is not None and old is not None else None
        return update(target, found) if found else Relation(kind="updates", target=target, why=LATER)

    def connected(self, one: str) -> set[str]:
        before = self._around.get(one)
        named = (*before.updates, *before.stated, *before.replaced_by) if before is not None else ()
        return {*self._named(one), *self._around.later(one), *named}

    def _fact(self, one: str) -> Known | None:
        fact = self._facts[one] if one in self._facts else self._around.get(one)
        return fact if fact is not None and fact.pending is None else None
