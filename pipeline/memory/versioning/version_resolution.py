"""Versions that result from changed memories, given the facts around them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from pipeline.memory.versioning.fact_comparison import FactRecord, find_contradiction, update_relation, will_end
from pipeline.memory.versioning.fact_lookup import FactIndex, to_fact_record
from pipeline.memory.versioning.provenance import stated_expiration, stated_relations
from pipeline.memory.versioning.version_chain import VersionNode, VersionState, version_family, version_states
from pipeline.rows import MemoryRow
from schemas.events import Relation

LATER_TIME_REASON = "it speaks of a later time"
"""Reason of an update whose texts no longer show the shared attribute."""


def resolve_versions(current: FactIndex, planned: Mapping[str, MemoryRow | None]) -> dict[str, VersionState]:
    """Return the version states of all families in which something changes.

    `current`: the surrounding facts as stored. `planned`: the rows as they will be.
    """
    plan = _PlannedFacts(current, {id_: None if row is None else to_fact_record(row) for id_, row in planned.items()})
    members = version_family(plan.versioned_ids(), plan.version_node, plan.connected_ids)
    states = version_states({id_: node for id_ in members if (node := plan.version_node(id_)) is not None})
    ends = plan.planned_ends(id_ for id_, state in states.items() if not state.is_superseded)
    return {
        id_: replace(state, updates=plan.update_relations(id_), ends_at=ends.get(id_)) for id_, state in states.items()
    }


def with_version_state(row: MemoryRow | None, state: VersionState | None) -> MemoryRow | None:
    """Return the row with its version number, latest flag, relations and end."""
    if row is None:
        return None
    version = state.version if state is not None else 1
    latest = row.forgotten_at is None and not (state is not None and state.is_superseded)
    relations = _merged_relations(row, state)
    expires_at = _expiration(row, state)
    if (version, latest, relations, expires_at) == (row.version, row.is_latest, row.relations, row.expires_at):
        return row
    return replace(row, version=version, is_latest=latest, relations=relations, expires_at=expires_at)


def _expiration(row: MemoryRow, state: VersionState | None) -> datetime | None:
    """Return the earlier of the end that a memory states and that which a plan brings."""
    if state is None or not row.provenance:
        return row.expires_at
    planned = None if state.is_superseded else state.ends_at
    return min((end for end in (stated_expiration(row), planned) if end is not None), default=None)


def _merged_relations(row: MemoryRow, state: VersionState | None) -> tuple[Relation, ...]:
    """Merge stated relations that valid times do not contradict with those that valid times imply."""
    if state is None or not row.provenance:
        return row.relations
    target_ids = {relation.target for relation in state.updates}
    stated = tuple(
        relation for relation in stated_relations(row) if relation.kind != "updates" or relation.target in target_ids
    )
    stated_targets = {relation.target for relation in stated if relation.kind == "updates"}
    return (*stated, *(relation for relation in state.updates if relation.target not in stated_targets))


def _supersedes_one_way(fact: FactRecord, other: FactRecord) -> bool:
    """Return whether one fact replaces the other but could not be replaced by it.

    `Lives in Berlin` ends `no longer lives in Rome`, yet both can be true in the other order.
    """
    return (
        find_contradiction(fact.attributes, other.attributes) is not None
        and find_contradiction(other.attributes, fact.attributes) is None
    )


def _stated_conflicts(fact: FactRecord | None) -> tuple[str, ...]:
    return () if fact is None else (*fact.stated_updates, *fact.replaced_by)


class _PlannedFacts:
    """The facts after the change: planned ones, else those stored."""

    def __init__(self, current: FactIndex, planned: Mapping[str, FactRecord | None]) -> None:
        self._current = current
        self._planned = planned
        self._conflicts_by_target: dict[str, set[str]] = {}
        for fact in planned.values():
            if fact is not None:
                for target in _stated_conflicts(fact):
                    self._conflicts_by_target.setdefault(target, set()).add(fact.id)

    def versioned_ids(self) -> list[str]:
        """Return the changed facts on which versions may depend."""
        return [id_ for id_ in self._planned if self.connected_ids(id_)]

    def version_node(self, memory_id: str) -> VersionNode | None:
        fact = self._planned_fact(memory_id)
        return None if fact is None else VersionNode(fact.valid_time, self._superseded_ids(fact))

    def update_relations(self, memory_id: str) -> tuple[Relation, ...]:
        """Return the `updates` relations of a fact, with reasons as if it had been formed last."""
        fact = self._planned_fact(memory_id)
        return tuple(self._update_relation(memory_id, target) for target in self._superseded_ids(fact)) if fact else ()

    def _superseded_ids(self, fact: FactRecord) -> tuple[str, ...]:
        """Return the conflicting facts that this one replaces, and stated targets that are gone."""
        rivals = self._conflicting_ids(fact.id) | self._sibling_ids(fact)
        existing = {rival for rival in rivals if self._supersedes(fact, self._planned_fact(rival))}
        missing = {target for target in fact.stated_updates if self._planned_fact(target) is None}
        return tuple(sorted(existing | missing))

    def _supersedes(self, fact: FactRecord, other: FactRecord | None) -> bool:
        """Return whether a fact replaces the other, by a later valid time, else as stated."""
        if other is None or other.id == fact.id:
            return False
        if other.id in fact.true_beside or fact.id in other.true_beside:
            return False
        if self._is_plan_and_present(fact, other):
            effective = other.takes_effect
            # A plan may be told after its day: what was said before replaces it no more than anything said later.
            return effective is not None and effective <= fact.valid_time and other.valid_time < fact.valid_time
        is_stated = other.id in fact.stated_updates or fact.id in other.replaced_by
        reverse_is_stated = fact.id in other.stated_updates or other.id in fact.replaced_by
        if not (is_stated or reverse_is_stated):
            # Formed at the same time by two processes, neither of which knew the other's.
            is_stated = find_contradiction(fact.attributes, other.attributes) is not None
            reverse_is_stated = find_contradiction(other.attributes, fact.attributes) is not None
        if not (is_stated or reverse_is_stated):
            return False
        if fact.valid_time != other.valid_time:
            return fact.valid_time > other.valid_time and (is_stated or not _supersedes_one_way(other, fact))
        return is_stated if is_stated != reverse_is_stated else fact.id > other.id

    def planned_ends(self, current_ids: Iterable[str]) -> dict[str, datetime]:
        """Return when facts end that plans among these will replace."""
        ends: dict[str, datetime] = {}
        for id_ in current_ids:
            plan = self._planned_fact(id_)
            if plan is None or plan.is_forgotten or (effective := plan.takes_effect) is None:
                continue
            for rival in self._conflicting_ids(id_):
                present = self._planned_fact(rival)
                is_before = present is not None and present.valid_time < effective
                if present is not None and is_before and will_end(plan.attributes, present.attributes):
                    ends[rival] = min(effective, ends.get(rival, effective))
        return ends

    def _is_plan_and_present(self, fact: FactRecord, other: FactRecord) -> bool:
        """Return whether only a day to come decides between two facts."""
        is_between = will_end(fact.attributes, other.attributes) or will_end(other.attributes, fact.attributes)
        return is_between and find_contradiction(fact.attributes, other.attributes) is None

    def _conflicting_ids(self, memory_id: str) -> set[str]:
        """Return the facts stated, by either side, to be incompatible with this one."""
        fact = self._planned_fact(memory_id)
        return {*_stated_conflicts(fact), *self._ids_naming(memory_id)}

    def _sibling_ids(self, fact: FactRecord) -> set[str]:
        """Return the facts that name one of the facts that this one names."""
        return {sibling for named in _stated_conflicts(fact) for sibling in self._ids_naming(named)}

    def _ids_naming(self, memory_id: str) -> set[str]:
        return {*self._conflicts_by_target.get(memory_id, ()), *self._current.conflicting_ids(memory_id)}

    def _update_relation(self, memory_id: str, target: str) -> Relation:
        new, old = self._planned_fact(memory_id), self._planned_fact(target)
        contradiction = None
        if new is not None and old is not None:
            # A plan is part of an update only once its day has come.
            begun, ended = (
                [replace(attribute, is_planned=False) for attribute in fact.attributes] for fact in (new, old)
            )
            contradiction = find_contradiction(begun, ended)
        return (
            update_relation(target, contradiction)
            if contradiction
            else Relation(kind="updates", target=target, reason=LATER_TIME_REASON)
        )

    def connected_ids(self, memory_id: str) -> set[str]:
        stored = self._current.get(memory_id)
        referenced_ids = (*stored.updates, *_stated_conflicts(stored)) if stored is not None else ()
        return {*self._conflicting_ids(memory_id), *self._current.superseding_ids(memory_id), *referenced_ids}

    def _planned_fact(self, memory_id: str) -> FactRecord | None:
        fact = self._planned[memory_id] if memory_id in self._planned else self._current.get(memory_id)
        return fact if fact is not None and fact.pending is None else None
