"""The profiles of the namespaces asked about last: a view of the memories table, kept true by its listener.

A namespace is read once, when its profile is first asked for. From then on every change of a memory finds
its place when it happens, and a question reads what is there. What is held of a namespace is bounded, so it
costs the same however many memories there are.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from pipeline.columns import microseconds
from pipeline.ports import Catalog, Clock, Documents, Embedder, Memories
from pipeline.profile.buckets import Buckets, described, effective
from pipeline.profile.holding import DYNAMIC, STATIC, Holding, Judged
from pipeline.profile.sections import LOOKED_AT, Fact, Portrait, drawn
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow, OrganizationRow, Vector
from pipeline.text.terms import hashed

log = logging.getLogger(__name__)

CAPACITY = 200_000
"""Facts, at most, of namespaces that nobody asks about."""
LEAST = 10
"""What a namespace weighs of which nothing is known."""
AT_ONCE = 256
"""Changes that wait are worked in when there are so many, or at the next question."""
FRESH_MS = 60_000
"""What is shown depends on the time of day a little, so it is made again after so long."""
GONE = 50_000
"""Documents that went lately; the memories that only they supported follow them in a moment."""
SMALL = 500
"""Facts of a namespace that is sorted into other buckets in milliseconds: a question waits for that."""
TOGETHER = 65_536
"""Memories that are read before those that come first are chosen: some 20 MB."""
DEFINITIONS = 256
JUDGED = 20_000
"""Facts whose buckets are remembered, of each set of definitions."""


@dataclass(eq=False, slots=True)
class _Judge:
    """Buckets, and which of them facts are in that were asked about lately."""

    buckets: Buckets
    known: OrderedDict[str, frozenset[str]] = field(default_factory=OrderedDict)


@dataclass(eq=False, slots=True)
class _Entry:
    """A namespace: while it is being read there is no `holding`, and its changes wait.

    `before`: what answers meanwhile where only its buckets are described anew.
    """

    name: str
    spaces: tuple[str, ...]
    definitions: Mapping[str, str]
    holding: Holding | None = None
    loading: "asyncio.Task[None] | None" = None
    before: "_Entry | None" = None
    changes: dict[str, MemoryRow | None] = field(default_factory=dict)
    shown: Portrait | None = None
    shown_at: int = 0


class Profiles:
    """One per process and generation of tables, subscribed on construction."""

    def __init__(
        self,
        *,
        documents: Documents,
        memories: Memories,
        catalog: Catalog,
        embedder: Embedder,
        clock: Clock,
        capacity: int = CAPACITY,
    ) -> None:
        self._memories = memories
        self._catalog = catalog
        self._embedder = embedder
        self._clock = clock
        self._capacity = capacity
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._by_space: dict[str, _Entry] = {}
        self._judges: OrderedDict[tuple[tuple[str, str], ...], _Judge] = OrderedDict()
        self._gone: OrderedDict[str, None] = OrderedDict()
        documents.subscribe(self._documents_changed, self._by_space.__contains__)
        memories.subscribe(self._memories_changed, self._by_space.__contains__)

    async def portrait(self, namespace: NamespaceRow, organization: OrganizationRow) -> Portrait:
        """All sections of a namespace, with every change made so far."""
        while True:
            known = self._catalog.namespace(namespace.name) or namespace
            entry = self._entry(known, effective(known, organization))
            if entry.loading is not None:
                if (meanwhile := self._meanwhile(entry)) is not None:
                    return meanwhile
                # Shielded: a caller who goes away must not take the reading from the others.
                await asyncio.shield(entry.loading)
            self._settle(entry)
            if entry.holding is None or self._entries.get(entry.name) is not entry:
                continue
            if entry.holding.is_thin:
                self._drop(entry.name)
                continue
            return self._shown(entry, entry.holding)

    async def judged(
        self,
        definitions: Mapping[str, str],
        ids: Sequence[str],
        vectors: Sequence[Vector],
        texts: Sequence[str],
    ) -> list[frozenset[str]]:
        """The buckets that memories are in; what was judged lately is remembered."""
        judge = await self._judge(definitions)
        new = [at for at, one in enumerate(ids) if one not in judge.known]
        fitting = judge.buckets.of_facts([vectors[at] for at in new], [hashed(texts[at]) for at in new])
        for at, places in zip(new, fitting, strict=True):
            names = (name for name, here in zip(judge.buckets.names, places, strict=True) if here)
            judge.known[ids[at]] = frozenset(names)
        found = [judge.known[one] for one in ids]
        while len(judge.known) > JUDGED:
            judge.known.popitem(last=False)
        return found

    async def holding(self, definitions: Mapping[str, str]) -> Holding:
        """An empty one with these buckets."""
        return Holding((await self._judge(definitions)).buckets)

    def _meanwhile(self, entry: _Entry) -> Portrait | None:
        """While a larger namespace is sorted into other buckets: those of before that are still named."""
        before = entry.before
        if before is None or before.holding is None:
            return None
        self._settle(before)
        if before.holding.is_thin or len(before.holding.facts) < SMALL:
            return None
        shown = self._shown(before, before.holding)
        there = shown.buckets
        return replace(shown, buckets={name: there.get(name, ()) for name in entry.definitions})

    def _shown(self, entry: _Entry, holding: Holding) -> Portrait:
        now = microseconds(self._clock.now()) // 1000
        if entry.shown is None or not entry.shown_at <= now < entry.shown_at + FRESH_MS:
            entry.shown = drawn(
                self._there(holding.first(STATIC)),
                self._there(holding.first(DYNAMIC)),
                {name: self._there(holding.first(name)) for name in entry.definitions},
                now,
            )
            entry.shown_at = now
        return entry.shown

    def _there(self, facts: Sequence[Fact]) -> list[Fact]:
        """Without facts whose documents are all gone, as many as are looked at."""
        gone = self._gone
        there = (
            fact
            for fact in facts
            if not gone or not fact.sources or not all(source in gone for source in fact.sources)
        )
        return list(islice(there, LOOKED_AT))

    def _entry(self, namespace: NamespaceRow, definitions: Mapping[str, str]) -> _Entry:
        """The entry for what the namespace owns now, and for the buckets it has now."""
        entry = self._entries.get(namespace.name)
        if entry is None or (entry.spaces, entry.definitions) != (namespace.spaces, definitions):
            self._drop(namespace.name)
            before = None
            if entry is not None and entry.spaces == namespace.spaces:
                before = entry.before if entry.holding is None else entry
            entry = _Entry(namespace.name, namespace.spaces, definitions, before=before)
            self._hold(entry)
            entry.loading = asyncio.create_task(self._load(entry))
            entry.loading.add_done_callback(_told)
        self._entries.move_to_end(entry.name)
        return entry

    def _hold(self, entry: _Entry) -> None:
        self._entries[entry.name] = entry
        self._by_space.update(dict.fromkeys(entry.spaces, entry))

    async def _load(self, entry: _Entry) -> None:
        try:
            holding = await self.holding(entry.definitions)
            waiting: list[Judged] = []
            async for batch in self._memories.stream(entry.spaces):
                waiting.append(await asyncio.to_thread(holding.judged, batch))
                if sum(len(one.rows) for one in waiting) >= TOGETHER:
                    await asyncio.to_thread(holding.add, waiting)
                    waiting = []
            holding.add(waiting)
            entry.holding = holding
        finally:
            before, entry.loading, entry.before = entry.before, None, None
            if entry.holding is None and self._entries.get(entry.name) is entry:
                self._drop(entry.name)
                if before is not None:
                    self._hold(before)
        self._evict(keep=entry)

    async def _judge(self, definitions: Mapping[str, str]) -> _Judge:
        key = tuple(definitions.items())
        judge = self._judges.get(key)
        if judge is None:
            judge = self._judges[key] = _Judge(await described(self._embedder, definitions))
        self._judges.move_to_end(key)
        while len(self._judges) > DEFINITIONS:
            self._judges.popitem(last=False)
        return judge

    def _settle(self, entry: _Entry) -> None:
        if entry.holding is not None and entry.changes:
            changes, entry.changes = entry.changes, {}
            entry.holding.change(changes.items())
            entry.shown = None

    def _memories_changed(self, groups: Mapping[str, list[MemoryRow]]) -> None:
        for one, rows in groups.items():
            for entry in self._concerned(one, rows):
                for each in (entry, *([] if entry.before is None else [entry.before])):
                    each.changes[one] = rows[0] if rows else None
                    if len(each.changes) >= AT_ONCE:
                        self._settle(each)

    def _concerned(self, one: str, rows: Sequence[MemoryRow]) -> list[_Entry]:
        """What is gone no longer says its space: whoever holds it, or may come to hold it."""
        if rows:
            entry = self._by_space.get(rows[0].space)
            return [] if entry is None else [entry]
        return [
            entry
            for entry in self._entries.values()
            if entry.holding is None or one in entry.changes or one in entry.holding.facts
        ]

    def _documents_changed(self, groups: Mapping[str, list[DocumentRow]]) -> None:
        for key, rows in groups.items():
            if rows and key not in self._gone:
                continue
            if rows:
                del self._gone[key]
            else:
                self._gone[key] = None
            for entry in self._entries.values():
                entry.shown = None
                if entry.before is not None:
                    entry.before.shown = None
        while len(self._gone) > GONE:
            self._gone.popitem(last=False)

    def _evict(self, keep: _Entry) -> None:
        held = {
            one.name: LEAST + len(one.holding.facts)
            for one in self._entries.values()
            if one.holding is not None
        }
        for name, facts in list(held.items()):
            if sum(held.values()) <= self._capacity:
                return
            if self._entries[name] is not keep:
                self._drop(name)
                held[name] -= facts

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        for space in entry.spaces if entry else ():
            if self._by_space.get(space) is entry:
                del self._by_space[space]


def _told(loading: "asyncio.Task[None]") -> None:
    """Nobody may be waiting for it; the next question begins it again."""
    if not loading.cancelled() and (error := loading.exception()) is not None:
        log.warning("The memories of a namespace could not be read for its profile: %s", error)
