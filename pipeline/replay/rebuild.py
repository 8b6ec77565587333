"""The rows of a generation from the log: what was submitted, the texts it became, and what is remembered.

One pass reads each topic to its end, with the ends of effects taken before those of their causes. Submissions
and the texts that they became are read side by side, a text never before its submission: so most rows are
complete before they are first written. Reading on from where a pass stopped changes only what came since:
every step may be repeated.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from pipeline.extraction.split import StructuredSplitter
from pipeline.extraction.summary import summarize
from pipeline.memory.conclusions import premises
from pipeline.ports import Splitter
from pipeline.replay.copying import Copying
from pipeline.replay.reading import Reader
from pipeline.replay.sources import FirstSources
from pipeline.rows import ChunkRow, DocumentRow
from pipeline.stage import Record, Stage
from pipeline.stages import extract, forget, relate
from pipeline.stages.chunk import split
from pipeline.stages.embed import embedded, in_context
from pipeline.store.documents import Documents
from pipeline.store.generations import Offsets
from pipeline.text.terms import hashed
from pipeline.tombstones import LocalTombstones
from pipeline.worker import Pipeline
from schemas.base import Event
from schemas.events import DocumentExtracted, MemoriesFormed, SettingsChanged
from schemas.topics import (
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
    SETTINGS_CHANGED,
    Topic,
)

E = TypeVar("E", bound=Event)
EFFECTS_FIRST: tuple[Topic[Any], ...] = (
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    SETTINGS_CHANGED,
)
GROUPS = 8192
READ_BYTES = 64 * 1024 * 1024
"""So many changed groups, or so much of the log, is flushed in one go: the bound of what is in memory."""

Told = Callable[[str, int], None]
"""Told after each window what was read, and for how many offsets it stood."""


class Rebuild:
    """Fills the tables of a pipeline that nobody serves yet."""

    def __init__(
        self,
        pipeline: Pipeline,
        offsets: Offsets,
        *,
        fresh: bool,
        told: Told,
        copying: Copying | None = None,
    ) -> None:
        foundation = pipeline.foundation
        self.reader = Reader(pipeline.bus, {topic: dict(at) for topic, at in offsets.items()})
        self._pipeline = pipeline
        self._store = pipeline.store
        self._told = told
        self._copying = copying
        self._flushed_at = 0
        self._flushing: asyncio.Task[None] | None = None
        self._outdated: dict[str, DocumentExtracted] = {}
        self._replaced: Mapping[str, int] | None = None
        # Its own: what the log deleted long ago is nothing that requests must know.
        self._buried = LocalTombstones()
        self._splitter: Splitter = StructuredSplitter(foundation.recipe(pipeline.generation).chunk_size)
        keeper, catalog, documents = pipeline.keeper, self._store.catalog, self._store.documents
        self._extract = extract.build(
            documents=documents,
            chunks=self._store.chunks,
            keeper=keeper,
            blobs=foundation.blobs,
            catalog=catalog,
            publisher=foundation.bus,
            extractor=foundation.extractor,
            fetcher=foundation.fetcher,
            summarize=summarize,
            tombstones=self._buried,
        )
        self._relate = relate.build(
            documents=documents,
            memories=FirstSources(self._store.memories) if fresh else self._store.memories,
            catalog=catalog,
            embedder=pipeline.embedder,
            keeper=keeper,
            terms=hashed,
        )
        self._forget = forget.build(catalog=catalog, keeper=keeper)

    async def ends(self) -> Offsets:
        """Where the log ends now."""
        return await self.reader.ends(EFFECTS_FIRST)

    async def advance(self, live: Documents) -> None:
        """Read on to the end of the log; on disk on return.

        `live`: who knows which texts were replaced, so need not be embedded, and why older ones failed.
        """
        ends = await self.ends()
        self._store.bulk = True
        try:
            await self._settings(ends)
            await self._copy()
            if self._replaced is None:
                # Once: while the stages stand still for the tail, nothing large is to be asked.
                self._replaced = await live.replaced()
            await self._texts(ends)
            await self._failures(live)
            await self._memories(ends)
            await self._flushed()
            await self._store.flush()
        finally:
            await self._flushed()
            self._store.bulk = False

    async def _settings(self, ends: Offsets) -> None:
        """In the order of time: a space changes its owner by two records, which may be in two partitions."""
        topic = SETTINGS_CHANGED
        changes: list[Record[SettingsChanged]] = []
        async for window, offsets in self.reader.windows(topic, ends[topic.name]):
            changes += window
            await self._breathe(topic, offsets)
        for record in sorted(changes, key=lambda record: record.at):
            self._store.catalog.apply(record.event)

    async def _copy(self) -> None:
        """Once, when it is known who owns what; what changes from now on is in the log."""
        copying, self._copying = self._copying, None
        if copying is not None:
            async for _ in copying.into(self._store):
                self._told("copying", 0)
                await self._relieve()

    async def _texts(self, ends: Offsets) -> None:
        """Every text after its submission, and the submissions that no text came of."""
        topic = DOCUMENTS_EXTRACTED
        async with aclosing(self._submissions(ends)) as submissions:
            async for window, offsets in self.reader.windows(topic, ends[topic.name]):
                events = [record.event for record in window]
                await self._work_in(events, await self._submitted(events, submissions))
                await self._breathe(topic, offsets)
            async for _ in submissions:
                pass
        await self._embed_outdated()

    async def _embed_outdated(self) -> None:
        """What is newer than these is still to be read, or failed: they are found until then."""
        outdated, self._outdated = list(self._outdated.values()), {}
        for begin in range(0, len(outdated), GROUPS):
            events = outdated[begin : begin + GROUPS]
            rows = await self._store.documents.get([event.document for event in events])
            await self._embed(
                [e for e in events if e.document in rows and rows[e.document][0].text_seq == e.seq]
            )

    async def _submissions(self, ends: Offsets) -> AsyncGenerator[bool, None]:
        """True after each window that was worked in."""
        topic = DOCUMENTS_SUBMITTED
        async for window, offsets in self.reader.windows(topic, ends[topic.name]):
            await _foresee(self._extract, window)
            await self._breathe(topic, offsets)
            yield True

    async def _submitted(
        self, events: Sequence[DocumentExtracted], submissions: AsyncIterator[bool]
    ) -> dict[str, DocumentRow]:
        """The rows of what these tell of, once every submission before them was read, wherever it is."""
        owner = self._store.catalog.owner
        newest = {key: one.seq for key, one in _newest(events).items() if owner(one.space) is not None}
        while True:
            found = await self._store.documents.get(newest)
            rows = {key: members[0] for key, members in found.items()}
            ahead = [key for key, seq in newest.items() if key not in rows or rows[key].seq < seq]
            buried = await self._buried.newest(ahead)
            if all(buried.get(key, -1) >= newest[key] for key in ahead) or not await anext(
                submissions, False
            ):
                return rows

    async def _work_in(self, events: Sequence[DocumentExtracted], owned: Mapping[str, DocumentRow]) -> None:
        """What a window says of each document: the newest failure, and the newest text, said last."""
        failures = _newest(event for event in events if event.error is not None)
        texts = _newest(event for event in events if event.error is None)
        contents = {
            key: await self._pipeline.blobs.text(event.text)
            for key, event in texts.items()
            if key in owned and not _is_done(owned[key], event)
        }
        after = {
            key: _told(row, failures.get(key), texts.get(key), contents.get(key, ""))
            for key, row in owned.items()
        }
        await self._embed(self._current(owned, after, texts))
        await self._store.documents.update(
            [key for key, row in after.items() if row != owned[key]], lambda key, _: [after[key]]
        )

    def _current(
        self,
        before: Mapping[str, DocumentRow],
        after: Mapping[str, DocumentRow],
        texts: Mapping[str, DocumentExtracted],
    ) -> list[DocumentExtracted]:
        """The texts that their documents are found by, as far as is known; others wait for what is newer."""
        current: list[DocumentExtracted] = []
        replaced = self._replaced or {}
        for key, row in after.items():
            event = texts.get(key)
            if event is None or event.seq != row.text_seq or _is_done(before[key], event):
                continue
            if row.text_seq == row.current_seq and event.seq >= replaced.get(key, event.seq):
                current.append(event)
                self._outdated.pop(key, None)
            else:
                self._outdated[key] = event
        return current

    async def _embed(self, events: Sequence[DocumentExtracted]) -> None:
        chunks = await self._cut(events)
        await self._store.chunks.update(list(chunks), lambda key, _: chunks[key])

    async def _cut(self, events: Sequence[DocumentExtracted]) -> dict[str, list[ChunkRow]]:
        texts = [await self._pipeline.blobs.text(event.text) for event in events]
        kinds = [event.type for event in events]
        spans = await split(self._splitter, texts, kinds)
        cut = list(zip(events, spans, strict=True))
        return await embedded(cut, self._pipeline.embedder, hashed, in_context)

    async def _failures(self, live: Documents) -> None:
        """What was given up before its failure was an event, or is a dead letter: the live row says why."""
        _, base = await self._store.documents.scan(None, "status = 'queued'", ["key"])
        fresh = self._store.documents.unflushed(self._store.documents.snapshot(), None)
        keys = {*base.column("key").to_pylist(), *(row.key for row in fresh if row.status == "queued")}
        served = await live.get(keys) if keys else {}
        failed = {key: rows[0] for key, rows in served.items() if rows and rows[0].status == "failed"}

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            if not rows or rows[0].content_seq != failed[key].content_seq or rows[0].status != "queued":
                return None
            return [replace(rows[0], status="failed", error=failed[key].error, dreaming=failed[key].dreaming)]

        await self._store.documents.update(list(failed), change)

    async def _memories(self, ends: Offsets) -> None:
        early: list[Record[MemoriesFormed]] = []
        async for window, offsets in self.reader.windows(MEMORIES_FORMED, ends[MEMORIES_FORMED.name]):
            if window:
                await self._relate.handle(window)
                early += filter(self._may_need_others, window)
            await self._breathe(MEMORIES_FORMED, offsets)
        if early:
            await self._relate.handle(early)
        async for hidden, offsets in self.reader.windows(MEMORIES_FORGOTTEN, ends[MEMORIES_FORGOTTEN.name]):
            if hidden:
                await self._forget.handle(hidden)
            await self._breathe(MEMORIES_FORGOTTEN, offsets)

    def _may_need_others(self, record: Record[MemoriesFormed]) -> bool:
        """Whether it concludes something from memories that may stand in a partition that is read later."""
        owner = self._store.catalog.owner(record.event.space)
        return owner is not None and len(owner.spaces) > 1 and any(map(premises, record.event.memories))

    async def _breathe(self, topic: Topic[Any], offsets: int) -> None:
        """After a window: say so, keep what is in memory within its bound, and let others have the loop."""
        self._told(topic.name, offsets)
        await self._relieve()

    async def _relieve(self) -> None:
        store = self._store
        if self.reader.bytes - self._flushed_at > READ_BYTES or store.waiting > GROUPS:
            self._flushed_at = self.reader.bytes
            # The next window is worked on beside it; it waits where that goes faster.
            await self._flushed()
            self._flushing = asyncio.create_task(store.flush())
        await asyncio.sleep(0)

    async def _flushed(self) -> None:
        flushing, self._flushing = self._flushing, None
        if flushing is not None:
            await flushing


def _newest(events: Iterable[DocumentExtracted]) -> dict[str, DocumentExtracted]:
    """By document, that of the newest submission; of several of one submission, what was said last."""
    newest: dict[str, DocumentExtracted] = {}
    for event in events:
        if event.document not in newest or newest[event.document].seq <= event.seq:
            newest[event.document] = event
    return newest


def _is_done(row: DocumentRow, event: DocumentExtracted) -> bool:
    """Whether an earlier pass has done all for this text."""
    return row.status == "done" and row.text_seq == event.seq


def _told(
    row: DocumentRow, failure: DocumentExtracted | None, event: DocumentExtracted | None, text: str
) -> DocumentRow:
    """The row with what the events say, as the stages leave it when all is done."""
    if event is not None and row.text_seq <= event.seq <= row.content_seq and not _is_done(row, event):
        row = _with_text(row, event, text)
    if failure is not None and failure.seq == row.content_seq and row.text_seq < failure.seq:
        row = _failed(row, failure)
    return row


def _with_text(row: DocumentRow, event: DocumentExtracted, text: str) -> DocumentRow:
    row = replace(
        row,
        text=text,
        text_seq=event.seq,
        type=event.type,
        title=event.title,
        summary=event.summary,
        url=event.url,
    )
    if event.seq < row.content_seq:
        return row
    return replace(row, status="done", error=None, updated_at=max(row.updated_at, event.at))


def _failed(row: DocumentRow, failure: DocumentExtracted) -> DocumentRow:
    """What it showed before it shows on, and its memories are formed of that."""
    row = replace(row, status="failed", error=failure.error)
    return row if row.text is not None else replace(row, dreaming=False, type=failure.type, url=failure.url)


async def _foresee(stage: Stage[E], window: Sequence[Record[E]]) -> None:
    if window and stage.foresee is not None:
        await stage.foresee(window)
