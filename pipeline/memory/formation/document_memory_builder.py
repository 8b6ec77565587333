"""Memories of one document: its facts, related to existing facts of the namespace."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from json import dumps

from pipeline.memory.attributes.attribute import Attribute, is_equivalent
from pipeline.memory.formation import derived_memories
from pipeline.memory.formation.extends_relations import find_extends_relation
from pipeline.memory.formation.rule_based_extraction import CandidateFact
from pipeline.memory.inference import inference_rules
from pipeline.memory.versioning.fact_comparison import (
    FactRecord,
    UpdateDecision,
    compare_fact,
    is_newest,
    parse_valid_time,
    visible_facts,
)
from pipeline.memory.versioning.fact_lookup import FactIndex
from pipeline.ports import NearestMemories, NearestMemory
from pipeline.rows import DocumentRow, NamespaceRow
from schemas.base import Metadata, MetadataValue
from schemas.events import FormedMemory, Relation
from schemas.ids import memory_id

MAX_EARLIER_FACTS = 50
"""Number of preceding facts of the same document that a new one may extend."""


@dataclass(frozen=True, slots=True)
class ExtractionJob:
    """A document to extract memories from: its text as of `seq`, submitted `at`. `type`: files hold no speech."""

    incarnation: str
    document: str
    seq: int
    at: datetime
    text: str
    date: str | None = None
    group: Metadata | None = None
    supporting_context: str | None = None
    type: str = "text"
    is_synced: bool = False
    """Whether a connector submitted it."""


@dataclass(frozen=True, slots=True)
class DocumentContext:
    """A document with what its facts are compared with.

    `shared_metadata`: metadata and group of other documents, by key. `neighbors_by_text`: lexical neighbors
    of its facts. `groups_by_document`: exact groups of documents that state premises; None if no inference
    is to be drawn.
    """

    job: ExtractionJob
    shared_metadata: Mapping[str, Metadata]
    neighbors_by_text: Mapping[str, NearestMemories]
    groups_by_document: Mapping[str, Metadata | None] | None = None


class DocumentMemoryBuilder:
    """Builds the memories of one document in the order of its facts.

    `fact_index` holds at least the facts that share attributes with the document's, and is updated.
    `changed_facts`: the facts as changed by this document, by id.
    """

    def __init__(self, fact_index: FactIndex, namespace: NamespaceRow, context: DocumentContext) -> None:
        self.changed_facts: dict[str, FactRecord] = {}
        self._fact_index = fact_index
        self._namespace = namespace
        self._job = context.job
        self._shared_metadata = context.shared_metadata
        self._neighbors_by_text = context.neighbors_by_text
        self._groups_by_document = context.groups_by_document
        self._conclusion_count = 0
        self._stated: dict[str, NearestMemory] = {}
        self._restatements: Counter[tuple[str, str]] = Counter()

    def build_memory(self, candidate: CandidateFact) -> FormedMemory:
        """Build the memory of the document's next fact, related to earlier facts here and elsewhere."""
        id_, decision, valid_time = self._memory_id(candidate.text), UpdateDecision(), None
        existing = None
        if candidate.attributes:
            id_, decision, valid_time = self._compare(candidate, id_)
            existing = self._fact_index.get(id_)
        relations = (*decision.relations, *candidate.relations)
        extends_relation = (
            None
            if relations or decision.replaced_by or candidate.is_inference
            else self._find_extends_relation(id_, candidate)
        )
        self._stated[id_] = NearestMemory(id_, candidate.text, self._job.document)
        return FormedMemory(
            id=id_,
            # The same fact in other words is the memory as it was first written.
            text=candidate.text if existing is None else existing.text,
            is_static=candidate.is_static if existing is None else existing.is_static,
            is_inference=candidate.is_inference,
            date=self._job.date,
            event_dates=candidate.dates,
            start=candidate.start,
            end=candidate.end,
            relations=relations if extends_relation is None else (extends_relation,),
            replaced_by=(*decision.replaced_by, *decision.planned),
            effective_at=valid_time,
            incarnation=existing.incarnation
            if existing is not None and existing.incarnation != self._job.incarnation
            else None,
            extracted_by=candidate.extracted_by,
            worth=candidate.worth,
            in_profile=candidate.in_profile and not self._job.is_synced,
            said_by=candidate.said_by,
        )

    def derive_conclusions(self, memory: FormedMemory) -> list[FormedMemory]:
        """Return what follows from this fact and an existing one, or an earlier one of the document."""
        partner_keys = inference_rules.partner_keys(memory.text)
        if self._groups_by_document is None or memory.is_inference or not inference_rules.premise_keys(memory.text):
            return []
        valid_time = memory.effective_at or parse_valid_time(self._job.date, self._job.at)
        existing = self._fact_index.get(memory.id)
        if existing is None:
            self._put_changed(self._new_record(memory.id, memory.text, valid_time, is_static=memory.is_static))
        else:
            valid_time = max(valid_time, existing.valid_time)
        others = self._visible_facts(self._fact_index.with_keys(self._namespace.incarnations, partner_keys))
        others = derived_memories.stated_in_group(others, self._groups_by_document, self._job.group)
        conclusions = derived_memories.derive_memories(
            derived_memories.Premise(memory.id, memory.text, valid_time), others
        )
        conclusions = conclusions[: derived_memories.MAX_CONCLUSIONS_PER_DOCUMENT - self._conclusion_count]
        self._conclusion_count += len(conclusions)
        return [
            conclusion.model_copy(
                update={
                    "id": self._memory_id(derived_memories.identity_text(conclusion)),
                    "in_profile": memory.in_profile,
                }
            )
            for conclusion in conclusions
        ]

    def _memory_id(self, text: str) -> str:
        """Return the memory id of a text; the same words in another group are another memory."""
        group = self._job.group
        return memory_id(self._job.incarnation, f"{text}\n{dumps(group, sort_keys=True)}" if group else text)

    def _find_extends_relation(self, id_: str, candidate: CandidateFact) -> Relation | None:
        """Return the relation to the memory that this fact adds detail to; None if it exists already."""
        neighbors = self._neighbors_by_text.get(candidate.text)
        if neighbors is None or id_ in self._stated or any(neighbor.id == id_ for neighbor in neighbors.memories):
            return None
        earlier_facts = islice(reversed(self._stated.values()), MAX_EARLIER_FACTS)
        return find_extends_relation(candidate.text, [*neighbors.memories, *earlier_facts], neighbors)

    def _compare(self, candidate: CandidateFact, id_: str) -> tuple[str, UpdateDecision, datetime]:
        others = self._visible_facts(
            self._fact_index.candidates_for(self._namespace.incarnations, candidate.attributes)
        )
        id_, is_restatement = self._resolve_identity(candidate, id_, others)
        valid_time = self._latest_valid_time(id_, candidate.attributes)
        superseding_ids = self._fact_index.superseding_ids(id_)
        rivals = [
            fact
            for fact in others
            if fact.id != id_ and not (fact.id in superseding_ids and fact.valid_time == valid_time)
        ]
        decision = compare_fact(candidate.attributes, valid_time, rivals, is_restatement=is_restatement)
        self._add_pending(id_, candidate, valid_time, decision)
        return id_, decision, valid_time

    def _resolve_identity(self, candidate: CandidateFact, id_: str, others: Sequence[FactRecord]) -> tuple[str, bool]:
        """Return the id of the fact's memory, and whether it restates a fact that was superseded before.

        A superseded fact that is stated again becomes a new version with an id of its own.
        """
        visible_ids = {fact.id for fact in others}
        keys = _typed_keys(candidate.attributes)
        others = [fact for fact in others if not keys.isdisjoint(_typed_keys(fact.attributes))]
        same = [fact for fact in others if is_same_fact(candidate, fact)]
        current = [fact for fact in same if not self._is_superseded(fact, visible_ids)]
        if current:
            return current[0].id, current[0].id != id_
        first = self._fact_index.get(id_)
        if first is None or first not in same or self._states_nothing_new(first, others):
            return id_, False
        heads = [fact for fact in others if not self._is_superseded(fact, visible_ids)]
        head = max(heads, key=lambda fact: fact.valid_time, default=first)
        return self._memory_id(f"{candidate.text}\n{head.id}"), True

    def _states_nothing_new(self, first: FactRecord, others: Sequence[FactRecord]) -> bool:
        """Return whether this document merely repeats its own statement, or is about an earlier time."""
        is_repetition = self._job.document in first.sources and first.id not in self._stated
        return is_repetition or not first.attributes or not is_newest(self._statement_time(first.attributes), others)

    def _is_superseded(self, fact: FactRecord, visible_ids: AbstractSet[str]) -> bool:
        return not self._fact_index.superseding_ids(fact.id).isdisjoint(visible_ids)

    def _visible_facts(self, facts: Sequence[FactRecord]) -> list[FactRecord]:
        visible = visible_facts(facts, self._job.document, self._stated.keys())
        if not self._job.group:
            return visible
        return [fact for fact in visible if fact.id in self._stated or self._in_group(fact)]

    def _in_group(self, fact: FactRecord) -> bool:
        group = self._job.group or {}
        return any(matches_group(self._shared_metadata.get(source, {}), group) for source in fact.sources)

    def _statement_time(self, attributes: Sequence[Attribute]) -> datetime:
        """Return the valid time of the next statement; later sentences add a microsecond each."""
        offset = max((self._restatements[key] for key in _typed_keys(attributes)), default=0)
        return parse_valid_time(self._job.date, self._job.at) + timedelta(microseconds=offset)

    def _latest_valid_time(self, id_: str, attributes: Sequence[Attribute]) -> datetime:
        """Return the latest time at which the fact was stated.

        A document that repeats itself states nothing new, unless something new comes before it in the text.
        """
        existing = self._fact_index.get(id_)
        is_own = existing is not None and self._job.document in existing.sources
        keys = _typed_keys(attributes)
        if existing is not None and is_own and keys.isdisjoint(self._restatements):
            return existing.valid_time
        stated_at = self._statement_time(attributes)
        self._restatements.update(keys)
        return stated_at if existing is None else max(existing.valid_time, stated_at)

    def _add_pending(self, id_: str, candidate: CandidateFact, valid_time: datetime, decision: UpdateDecision) -> None:
        """Add the fact to the index until the table contains it."""
        existing = self._fact_index.get(id_)
        targets = tuple(relation.target for relation in decision.relations)
        fact = existing or self._new_record(
            id_, candidate.text, valid_time, attributes=candidate.attributes, is_static=candidate.is_static
        )
        sources = tuple(dict.fromkeys((*fact.sources, self._job.document)))
        updates = tuple(dict.fromkeys((*fact.updates, *targets)))
        self._put_changed(replace(fact, valid_time=valid_time, sources=sources, updates=updates))
        for newer_id in decision.replaced_by:
            if (newer := self._fact_index.get(newer_id)) is not None and id_ not in newer.updates:
                self._put_changed(replace(newer, updates=(*newer.updates, id_)))

    def _new_record(
        self, id_: str, text: str, valid_time: datetime, *, attributes: tuple[Attribute, ...] = (), is_static: bool
    ) -> FactRecord:
        return FactRecord(
            id=id_,
            incarnation=self._job.incarnation,
            text=text,
            attributes=attributes,
            valid_time=valid_time,
            sources=(self._job.document,),
            is_static=is_static,
            pending=(self._job.document, self._job.seq),
        )

    def _put_changed(self, fact: FactRecord) -> None:
        self._fact_index.put(fact)
        self.changed_facts[fact.id] = fact


def _typed_keys(attributes: Sequence[Attribute]) -> set[tuple[str, str]]:
    """Return the keys of attributes whose values can be stated again, which whole statements have not."""
    return {attribute.key for attribute in attributes if attribute.value_kind != "statement"}


def is_same_fact(candidate: CandidateFact, fact: FactRecord) -> bool:
    """Return whether the candidate states this fact, in the same or in equivalent words."""
    if candidate.text.casefold() == fact.text.casefold():
        return True
    return any(
        is_equivalent(new_attribute, known_attribute)
        for new_attribute in candidate.attributes
        for known_attribute in fact.attributes
    )


def metadata_with_group(row: DocumentRow) -> Metadata:
    """Return a document's metadata with its group metadata, which takes precedence."""
    return {**row.metadata, **(row.group_metadata or {})}


def matches_group(metadata: Mapping[str, MetadataValue], group: Mapping[str, MetadataValue]) -> bool:
    """Return whether all keys match: single values exactly, lists by any element."""
    return all(_matches_value(metadata.get(key), value) for key, value in group.items())


def _matches_value(value: MetadataValue | None, expected: MetadataValue) -> bool:
    if isinstance(expected, list):
        return bool(set(expected) & set(value if isinstance(value, list) else [str(value)]))
    return expected in value if isinstance(value, list) else value == expected
