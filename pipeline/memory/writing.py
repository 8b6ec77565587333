"""One document being formed: its facts become memories, related to what is known in the namespace."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from json import dumps

from pipeline.memory.deriving import forming, rules
from pipeline.memory.details import parent
from pipeline.memory.drafts import Draft
from pipeline.memory.ledger import Facts
from pipeline.memory.relations import Known, Verdict, is_newest, judge, moment, visible
from pipeline.memory.slots.slot import Slot, repeats
from pipeline.ports import Neighbour, Neighbours
from pipeline.rows import NamespaceRow
from schemas.base import Metadata, MetadataValue
from schemas.events import FormedMemory, Relation
from schemas.ids import memory_id

SAID_BEFORE = 50
"""Facts of the same document that a new one may add detail to: the last ones before it."""


@dataclass(frozen=True, slots=True)
class Work:
    """A document whose memories are to be formed: its text as of `seq`, submitted `at`."""

    space: str
    document: str
    seq: int
    at: datetime
    text: str
    date: str | None = None
    group: Metadata | None = None
    supporting_context: str | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A document, what documents in question share (by key), and neighbours of its facts (by text).

    `groups`: of the documents whose facts something may follow from; None where nothing is to be concluded.
    """

    work: Work
    shared: Mapping[str, Metadata]
    near: Mapping[str, Neighbours]
    groups: Mapping[str, Metadata | None] | None = None


class Writing:
    """One document being formed: what it has said so far, and how that stands to what is known.

    `known` holds at least what shares slots with its facts. `changed`: the facts as they are with it.
    """

    def __init__(self, known: Facts, owner: NamespaceRow, around: Surroundings) -> None:
        self.changed: dict[str, Known] = {}
        self._known = known
        self._owner = owner
        self._work = around.work
        self._shared = around.shared
        self._near = around.near
        self._groups = around.groups
        self._concluded = 0
        self._said: dict[str, Neighbour] = {}
        self._renewed: Counter[tuple[str, str]] = Counter()

    def memory(self, draft: Draft) -> FormedMemory:
        """The next fact of the document, related to those before it here and elsewhere."""
        id_, verdict, since = self._id(draft.text), Verdict(), None
        there = None
        if draft.slots:
            id_, verdict, since = self._judged(draft, id_)
            there = self._known.get(id_)
        relations = (*verdict.relations, *draft.relations)
        more = None if relations or verdict.replaced_by or draft.is_inference else self._detail(id_, draft)
        self._said[id_] = Neighbour(id_, draft.text, self._work.document)
        return FormedMemory(
            id=id_,
            # The same fact in other words is the memory as it was first written.
            text=draft.text if there is None else there.text,
            is_static=draft.is_static if there is None else there.is_static,
            is_inference=draft.is_inference,
            date=self._work.date,
            event_dates=draft.dates,
            start=draft.start,
            end=draft.end,
            relations=relations if more is None else (more,),
            replaced_by=verdict.replaced_by,
            since=since,
            space=there.space if there is not None and there.space != self._work.space else None,
            by=draft.by,
        )

    def conclusions(self, memory: FormedMemory) -> list[FormedMemory]:
        """What follows from this fact and one that is known, or that the document said before it."""
        wanted = rules.sought(memory.text)
        if self._groups is None or memory.is_inference or not rules.held(memory.text):
            return []
        when = memory.since or moment(self._work.date, self._work.at)
        there = self._known.get(memory.id)
        if there is None:
            self._put(self._new(memory.id, memory.text, when, is_static=memory.is_static))
        else:
            when = max(when, there.when)
        others = self._visible(self._known.keyed(self._owner.spaces, wanted))
        others = forming.of_group(others, self._groups, self._work.group)
        found = forming.conclusions(forming.Premise(memory.id, memory.text, when), others)
        found = found[: forming.MOST - self._concluded]
        self._concluded += len(found)
        return [one.model_copy(update={"id": self._id(forming.named(one))}) for one in found]

    def _id(self, said: str) -> str:
        """A group's memories are its own: what others state in the same words is another memory."""
        group = self._work.group
        return memory_id(self._work.space, f"{said}\n{dumps(group, sort_keys=True)}" if group else said)

    def _detail(self, id_: str, draft: Draft) -> Relation | None:
        """To the memory that this one says more about. One that is known already has its relations."""
        near = self._near.get(draft.text)
        if near is None or id_ in self._said or any(one.id == id_ for one in near.found):
            return None
        said = islice(reversed(self._said.values()), SAID_BEFORE)
        return parent(draft.text, [*near.found, *said], near)

    def _judged(self, draft: Draft, id_: str) -> tuple[str, Verdict, datetime]:
        others = self._visible(self._known.sharing(self._owner.spaces, draft.slots))
        id_, returns = self._identity(draft, id_, others)
        when = self._when(id_, draft.slots)
        replacing = self._known.later(id_)
        rivals = [one for one in others if one.id != id_ and not (one.id in replacing and one.when == when)]
        verdict = judge(draft.slots, when, rivals, returns=returns)
        self._remember(id_, draft, when, verdict)
        return id_, verdict, when

    def _identity(self, draft: Draft, id_: str, others: Sequence[Known]) -> tuple[str, bool]:
        """What was true before, and then was not, is a new version when it is said again."""
        seen = {one.id for one in others}
        same = [one for one in others if says_the_same(draft, one)]
        standing = [one for one in same if not self._replaced(one, seen)]
        if standing:
            return standing[0].id, standing[0].id != id_
        first = self._known.get(id_)
        if first is None or first not in same or self._is_old_news(first, others):
            return id_, False
        heads = [one for one in others if not self._replaced(one, seen)]
        head = max(heads, key=lambda one: one.when, default=first)
        return self._id(f"{draft.text}\n{head.id}"), True

    def _is_old_news(self, first: Known, others: Sequence[Known]) -> bool:
        """Whether the words only repeat this document's own statement, or speak of an earlier time."""
        repeated = self._work.document in first.sources and first.id not in self._said
        return repeated or not first.slots or not is_newest(self._time(first.slots), others)

    def _replaced(self, fact: Known, seen: AbstractSet[str]) -> bool:
        return not self._known.later(fact.id).isdisjoint(seen)

    def _visible(self, facts: Sequence[Known]) -> list[Known]:
        seen = visible(facts, self._work.document, self._said.keys())
        if not self._work.group:
            return seen
        return [one for one in seen if one.id in self._said or self._in_group(one)]

    def _in_group(self, fact: Known) -> bool:
        asked = self._work.group or {}
        return any(is_in_group(self._shared.get(source, {}), asked) for source in fact.sources)

    def _time(self, slots: Sequence[Slot]) -> datetime:
        """What comes later in the text is later, by a microsecond."""
        later = max(self._renewed[slot.key] for slot in slots)
        return moment(self._work.date, self._work.at) + timedelta(microseconds=later)

    def _when(self, id_: str, slots: Sequence[Slot]) -> datetime:
        """The latest time at which the fact was stated.

        A document that repeats itself states nothing new, unless something new comes before it in the text.
        """
        there = self._known.get(id_)
        mine = there is not None and self._work.document in there.sources
        if there is not None and mine and not any(slot.key in self._renewed for slot in slots):
            return there.when
        when = self._time(slots)
        self._renewed.update(slot.key for slot in slots)
        return when if there is None else max(there.when, when)

    def _remember(self, id_: str, draft: Draft, when: datetime, verdict: Verdict) -> None:
        """Until the table has it, the fact is known from here."""
        there = self._known.get(id_)
        targets = tuple(one.target for one in verdict.relations)
        fact = there or self._new(id_, draft.text, when, slots=draft.slots, is_static=draft.is_static)
        sources = tuple(dict.fromkeys((*fact.sources, self._work.document)))
        updates = tuple(dict.fromkeys((*fact.updates, *targets)))
        self._put(replace(fact, when=when, sources=sources, updates=updates))
        for later in verdict.replaced_by:
            if (newer := self._known.get(later)) is not None and id_ not in newer.updates:
                self._put(replace(newer, updates=(*newer.updates, id_)))

    def _new(
        self, id_: str, text: str, when: datetime, *, slots: tuple[Slot, ...] = (), is_static: bool
    ) -> Known:
        return Known(
            id=id_,
            space=self._work.space,
            text=text,
            slots=slots,
            when=when,
            sources=(self._work.document,),
            is_static=is_static,
            pending=(self._work.document, self._work.seq),
        )

    def _put(self, fact: Known) -> None:
        self._known.put(fact)
        self.changed[fact.id] = fact


def says_the_same(draft: Draft, fact: Known) -> bool:
    """Whether a fact says what is known already, in the same or in other words."""
    if draft.text.casefold() == fact.text.casefold():
        return True
    return any(repeats(ours, theirs) for ours in draft.slots for theirs in fact.slots)


def is_in_group(metadata: Mapping[str, MetadataValue], asked: Mapping[str, MetadataValue]) -> bool:
    """Every key holds: single values exactly, of a list any one."""
    return all(_shares(metadata.get(key), value) for key, value in asked.items())


def _shares(value: MetadataValue | None, asked: MetadataValue) -> bool:
    if isinstance(asked, list):
        return bool(set(asked) & set(value if isinstance(value, list) else [str(value)]))
    return asked in value if isinstance(value, list) else value == asked
