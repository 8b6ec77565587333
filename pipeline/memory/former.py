"""Documents to `memories.formed`: their facts, and what these mean for the facts of the namespace."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from weakref import WeakValueDictionary

from pipeline.breath import Breath
from pipeline.memory.deriving import forming, rules
from pipeline.memory.drafts import Draft
from pipeline.memory.extraction import ByRules, Delay, Extraction
from pipeline.memory.ledger import Facts, Ledger
from pipeline.memory.nearby import LARGEST
from pipeline.memory.neighbours import Vicinity
from pipeline.memory.relations import Known
from pipeline.memory.writing import Surroundings, Work, Writing
from pipeline.ports import Catalog, Documents, KeyIndex, Publisher, WordIndex
from pipeline.rows import DocumentRow, NamespaceRow
from schemas.base import Metadata
from schemas.events import FormedMemory, MemoriesFormed
from schemas.topics import MEMORIES_FORMED

SLICE = 32
"""Documents read by one call of the worker thread."""
TOGETHER = 1000
"""Memories, about, that are published at once."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """A document whose facts can't be found now; its row says why. To be tried again after `seconds`."""

    work: Work
    seconds: float


class HotIndex(WordIndex, KeyIndex, Protocol):
    """Memories of namespaces that can be held, by what they are compared by."""


def _unknown(_: Sequence[str]) -> Mapping[str, int]:
    return {}


class Former:
    """Forms and publishes, one caller at a time in a namespace, so that facts are compared in order."""

    def __init__(
        self,
        *,
        documents: Documents,
        catalog: Catalog,
        publisher: Publisher,
        ledger: Ledger,
        index: HotIndex,
        count: Callable[[Sequence[str]], Mapping[str, int]] = _unknown,
        extraction: Extraction | None = None,
    ) -> None:
        """`count`: how many current memories spaces have, from memory."""
        self._documents = documents
        self._catalog = catalog
        self._publisher = publisher
        self._ledger = ledger
        self._index = index
        self._count = count
        self._extraction = extraction or ByRules()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def form(self, works: Sequence[Work]) -> list[Delayed]:
        """Form what is still wanted of these, each namespace in the order given; what has to wait."""
        by_namespace: dict[str, list[Work]] = {}
        for work in works:
            owner = self._catalog.owner(work.space)
            if owner is not None:
                by_namespace.setdefault(owner.name, []).append(work)
        parts = await asyncio.gather(
            *(self._in_namespace(name, found) for name, found in by_namespace.items())
        )
        return [one for part in parts for one in part]

    async def _in_namespace(self, name: str, works: Sequence[Work]) -> list[Delayed]:
        lock = self._locks.setdefault(name, asyncio.Lock())
        delayed: list[Delayed] = []
        async with lock:
            for begin in range(0, len(works), SLICE):
                delayed += await self._form(works[begin : begin + SLICE])
        return delayed

    async def _form(self, works: Sequence[Work]) -> list[Delayed]:
        rows = await self._documents.get([work.document for work in works])
        wanted = [work for work in works if is_wanted(rows.get(work.document), work.seq)]
        owner = self._catalog.owner(wanted[0].space) if wanted else None
        if owner is None:
            return []
        answers = list(zip(wanted, await self._extraction.facts(owner, wanted), strict=True))
        found = [(work, facts) for work, facts in answers if not isinstance(facts, Delay)]
        await self._relate(owner, found)
        return await self._delayed([(work, delay) for work, delay in answers if isinstance(delay, Delay)])

    async def _delayed(self, delays: Sequence[tuple[Work, Delay]]) -> list[Delayed]:
        """Their rows say why they wait."""
        reasons = {work.document: (work.seq, delay.reason) for work, delay in delays}

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            seq, reason = reasons[key]
            waits = is_wanted(rows, seq) and rows[0].dreaming_error != reason
            return [replace(rows[0], dreaming_error=reason)] if waits else None

        if reasons:
            await self._documents.update(list(reasons), change)
        return [Delayed(work, delay.seconds) for work, delay in delays]

    async def _relate(self, owner: NamespaceRow, found: Sequence[tuple[Work, Sequence[Draft]]]) -> None:
        """Compare the facts with what is known, document by document, and publish them."""
        breath = Breath()
        slots = [slot for _, facts in found for draft in facts for slot in draft.slots]
        size = sum(self._count(owner.spaces).values())
        small = size <= LARGEST
        partners = _partners(found) if size <= forming.LARGEST else []
        known = await self._ledger.sharing(
            owner.spaces, slots, partners, index=self._index if small else None
        )
        await breath.taken()
        await self._let_go_of_lost(known)
        works = [work for work, _ in found]
        shared, own = await self._groups(works, known, known.keyed(owner.spaces, partners))
        groups = own if size <= forming.LARGEST else None
        vicinity = await Vicinity.of(self._index, self._documents, owner.name) if found and small else None
        await breath.taken()
        events: list[MemoriesFormed] = []
        for work, facts in found:
            near = await vicinity.near(work, facts, breath) if vicinity is not None else {}
            writing = Writing(known, owner, Surroundings(work, shared, near, groups))
            events.append(await self._formed(work, writing, facts, breath))
            if sum(len(event.memories) for event in events) >= TOGETHER:
                await self._publish(events)
                events = []
        await self._publish(events)

    async def _publish(self, events: Sequence[MemoriesFormed]) -> None:
        await self._publisher.publish(MEMORIES_FORMED, [(event.space, event) for event in events])

    async def _formed(
        self, work: Work, writing: Writing, facts: Sequence[Draft], breath: Breath
    ) -> MemoriesFormed:
        memories: dict[str, FormedMemory] = {}
        for draft in facts:
            memory = writing.memory(draft)
            for one in (memory, *writing.conclusions(memory)):
                memories.setdefault(one.id, one)
            # A thousand facts of one slot take a second to compare, and requests are waiting.
            await breath.taken()
        self._ledger.note(writing.changed.values())
        return MemoriesFormed(
            space=work.space,
            document=work.document,
            seq=work.seq,
            at=work.at,
            memories=tuple(memories.values()),
        )

    async def _let_go_of_lost(self, known: Facts) -> None:
        """Facts that were formed but never reached the table, because their document changed meanwhile.

        While the document waits for memories, those of its older text may still be on their way.
        """
        waiting = {fact.id: fact.pending for fact in known if fact.pending is not None}
        rows = await self._documents.get({document for document, _ in waiting.values()}) if waiting else {}
        for id_, (document, seq) in waiting.items():
            row = rows.get(document)
            if row and (row[0].current_seq == seq or row[0].dreaming):
                continue
            if (now := self._ledger.ahead(id_)) is not None and now.pending is not None:
                self._ledger.drop(id_)
                known.drop(id_)

    async def _groups(
        self, works: Sequence[Work], facts: Iterable[Known], premises: Iterable[Known]
    ) -> tuple[dict[str, Metadata], dict[str, Metadata | None]]:
        """By key, what the documents in question share, and the very group of each.

        Those in question: of these facts, or of the premises among them when no document asks for a group;
        then nothing is shared.
        """
        grouped, own = any(work.group for work in works), {work.document for work in works}
        keys = own | _sources(facts) if grouped else _sources(premises) - own
        found = await self._documents.get(keys) if keys else {}
        rows = {key: members[0] for key, members in found.items() if members}
        shared = {key: {**row.metadata, **(row.group or {})} for key, row in rows.items()} if grouped else {}
        groups = {key: row.group for key, row in rows.items()}
        return shared, groups | {work.document: work.group for work in works}


def _sources(facts: Iterable[Known]) -> set[str]:
    return {source for fact in facts for source in fact.sources}


def _partners(found: Sequence[tuple[Work, Sequence[Draft]]]) -> list[str]:
    """Keys of what something may follow from together with these facts."""
    texts = [draft.text for _, facts in found for draft in facts if not draft.is_inference]
    return list(dict.fromkeys(key for text in texts for key in rules.sought(text)))


def is_wanted(rows: Sequence[DocumentRow] | None, seq: int) -> bool:
    """Whether the document is there, waits for its memories, and has no newer content than `seq`."""
    return bool(rows) and rows[0].dreaming and rows[0].current_seq <= seq  # type: ignore[index]  # not empty
