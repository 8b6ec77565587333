"""Rebuild of a generation's tables from the log: submissions, their texts and their memories.

Settings are followed once per process, not once per generation.

One pass reads each topic to its end; the ends of effects are taken before those of their causes. Submissions
and texts are read side by side, a text never before its submission, so most rows are complete when they are
first written. A pass resumes where the last one stopped, and every step is idempotent.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from app.generation_pipeline import Pipeline
from app.replay.division import partitions_of
from app.replay.generation_copy import GenerationCopy
from app.replay.log_window_reader import LogWindowReader
from pipeline.memory.versioning.truth_maintenance import premises
from pipeline.ports import MemoryTable
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.stage import Record
from pipeline.stages.chunk_rows import build_chunk_rows
from pipeline.stages.chunk_stage import split_texts
from pipeline.store.generations.generation_registry import TopicOffsets
from pipeline.store.lancedb.key_filter import KeyFilter
from pipeline.store.tables.document_table import ShardedDocumentTable
from pipeline.text.analyzer import hash_terms
from pipeline.tombstones import LocalTombstones
from schemas import topics
from schemas.base import Event
from schemas.events import DocumentExtracted, MemoriesFormed

E = TypeVar("E", bound=Event)
TOPICS_EFFECTS_FIRST: tuple[topics.Topic[Any], ...] = (
    topics.MEMORIES_FORGOTTEN,
    topics.MEMORIES_FORMED,
    topics.DOCUMENTS_EXTRACTED,
    topics.DOCUMENTS_SUBMITTED,
)
MAX_UNFLUSHED_KEYS = 8192
MAX_UNFLUSHED_LOG_BYTES = 64 * 1024 * 1024
"""Flush after this many changed entity keys or bytes of the log, to bound memory."""

ReportProgress = Callable[[str, int], None]
"""Called after each window with the topic (or step) and the number of offsets it covered."""


class GenerationRebuild:
    """Fills the tables of a pipeline that is not served yet."""

    def __init__(
        self,
        pipeline: Pipeline,
        offsets: TopicOffsets,
        *,
        fresh: bool,
        report_progress: ReportProgress,
        copy: GenerationCopy | None = None,
        owns: Callable[[str], bool] = lambda _: True,
        undivided: Collection[str] = (),
    ) -> None:
        """Fill all tables, or those shards whose incarnations it `owns`, without the memories of `undivided` ones."""
        self._owns = owns
        self._undivided = undivided
        self.reader = LogWindowReader(pipeline.bus, {topic: dict(at) for topic, at in offsets.items()})
        self._pipeline = pipeline
        self._store = pipeline.store
        self._report_progress = report_progress
        self._pending_copy = copy
        self._flushed_at_bytes = 0
        self._flushing: asyncio.Task[None] | None = None
        self._superseded_texts: dict[str, DocumentExtracted] = {}
        self._newest_content_seq: Mapping[str, int] | None = None
        # Deletions in the log are older than the requests that the shared tombstones are for.
        self._tombstones = LocalTombstones()
        stages = pipeline.stage_set
        self._splitter = stages.chunk.splitter
        self._extract_stage = replace(stages.extract, tombstones=self._tombstones)
        self._memories_stage = stages.project_memories
        if fresh:
            self._memories_stage = replace(stages.project_memories, memories=_MemorySourceFilter(self._store.memories))
        self._forget_stage = stages.forget_memories

    async def log_ends(self) -> TopicOffsets:
        return await self.reader.ends(TOPICS_EFFECTS_FIRST)

    async def advance(self, active_documents: ShardedDocumentTable, ends: TopicOffsets | None = None) -> None:
        """Read on to the end of the log, or to these ends, and flush.

        `active_documents`: the served table; it tells which texts were replaced, so need no vectors, and the
        errors of older failures.
        """
        ends = ends or await self.log_ends()
        self._store.bulk_loading = True
        try:
            await self._pipeline.resources.settings_lock.catch_up()
            await self._copy_rows()
            if self._newest_content_seq is None:
                # Only once: no large scan while the stages pause for the tail of the log.
                self._newest_content_seq = await active_documents.content_seqs_of_updated()
            await self._replay_texts(ends)
            await self._restore_failures(active_documents)
            await self._replay_memories(ends)
            await self._wait_for_flush()
            await self._store.flush()
        finally:
            await self._wait_for_flush()
            self._store.bulk_loading = False

    async def _copy_rows(self) -> None:
        """Copy rows once; later changes come from the log."""
        copying, self._pending_copy = self._pending_copy, None
        if copying is not None:
            async for _ in copying.copy_into(self._store):
                self._report_progress("copying", 0)
                await self._flush_if_large()

    async def _replay_texts(self, ends: TopicOffsets) -> None:
        """Apply every text after its submission, and the submissions without a text."""
        topic = topics.DOCUMENTS_EXTRACTED
        async with aclosing(self._replay_submissions(ends)) as submissions:
            async for window, offsets in self.reader.windows(topic, ends[topic.name]):
                events = [record.event for record in window]
                await self._apply_text_events(events, await self._rows_after_submissions(events, submissions))
                await self._after_window(topic, offsets)
            async for _ in submissions:
                pass
        await self._embed_superseded_texts()

    async def _embed_superseded_texts(self) -> None:
        """Embed texts whose newer version failed or is unread: searches find them until then."""
        outdated, self._superseded_texts = list(self._superseded_texts.values()), {}
        for begin in range(0, len(outdated), MAX_UNFLUSHED_KEYS):
            events = outdated[begin : begin + MAX_UNFLUSHED_KEYS]
            rows = await self._store.documents.get([event.document for event in events])
            current = [
                event for event in events if event.document in rows and rows[event.document][0].text_seq == event.seq
            ]
            await self._embed(current)

    async def _replay_submissions(self, ends: TopicOffsets) -> AsyncGenerator[bool, None]:
        """Apply submissions; yields True after each window."""
        topic = topics.DOCUMENTS_SUBMITTED
        async for window, offsets in self.reader.windows(topic, ends[topic.name]):
            if window:
                await self._extract_stage.apply_optimistically(window)
            await self._after_window(topic, offsets)
            yield True

    async def _rows_after_submissions(
        self, events: Sequence[DocumentExtracted], submissions: AsyncIterator[bool]
    ) -> dict[str, DocumentRow]:
        """Return the documents' rows after reading all submissions that precede these events."""
        owner = self._store.catalog.namespace_of
        newest = {
            key: event.seq for key, event in _newest_by_document(events).items() if owner(event.incarnation) is not None
        }
        while True:
            stored = await self._store.documents.get(newest)
            rows = {key: members[0] for key, members in stored.items()}
            missing = [key for key, seq in newest.items() if key not in rows or rows[key].seq < seq]
            deleted = await self._tombstones.latest_deletions(missing)
            if all(deleted.get(key, -1) >= newest[key] for key in missing):
                return rows
            if not await anext(submissions, False):
                return rows

    async def _apply_text_events(self, events: Sequence[DocumentExtracted], rows: Mapping[str, DocumentRow]) -> None:
        failures = _newest_by_document(event for event in events if event.error is not None)
        texts = _newest_by_document(event for event in events if event.error is None)
        contents = {
            key: await self._pipeline.resources.blobs.load_text(event.text)
            for key, event in texts.items()
            if key in rows and not _is_done(rows[key], event)
        }
        after = {
            key: _apply_text_event(row, failures.get(key), texts.get(key), contents.get(key, ""))
            for key, row in rows.items()
        }
        await self._embed(self._texts_to_embed(rows, after, texts))
        await self._store.documents.update(
            [key for key, row in after.items() if row != rows[key]], lambda key, _: [after[key]]
        )

    def _texts_to_embed(
        self,
        before: Mapping[str, DocumentRow],
        after: Mapping[str, DocumentRow],
        texts: Mapping[str, DocumentExtracted],
    ) -> list[DocumentExtracted]:
        """Return the searchable texts to embed now; texts with a known replacement wait for it."""
        current: list[DocumentExtracted] = []
        replaced = self._newest_content_seq or {}
        for key, row in after.items():
            event = texts.get(key)
            if event is None or event.seq != row.text_seq or _is_done(before[key], event):
                continue
            if row.text_seq == row.searchable_seq and event.seq >= replaced.get(key, event.seq):
                current.append(event)
                self._superseded_texts.pop(key, None)
            else:
                self._superseded_texts[key] = event
        return current

    async def _embed(self, events: Sequence[DocumentExtracted]) -> None:
        chunks = await self._split_and_embed(events)
        await self._store.chunks.update(list(chunks), lambda key, _: chunks[key])

    async def _split_and_embed(self, events: Sequence[DocumentExtracted]) -> dict[str, list[ChunkRow]]:
        texts = [await self._pipeline.resources.blobs.load_text(event.text) for event in events]
        kinds = [event.type for event in events]
        spans = await split_texts(self._splitter, texts, kinds)
        cut = list(zip(events, spans, strict=True))
        return await build_chunk_rows(cut, self._pipeline.embedder, hash_terms)

    async def _restore_failures(self, active_documents: ShardedDocumentTable) -> None:
        """Copy failures that have no event, such as those of dead letters, from the served rows."""
        _, base = await self._store.documents.scan(None, "status = 'queued'", ["key", "incarnation"])
        stored = zip(base.column("key").to_pylist(), base.column("incarnation").to_pylist(), strict=True)
        fresh = self._store.documents.unflushed_rows(self._store.documents.memtable_snapshot(), None)
        queued = [*stored, *((row.key, row.incarnation) for row in fresh if row.status == "queued")]
        keys = {key for key, incarnation in queued if self._owns(incarnation)}
        served = await active_documents.get(keys) if keys else {}
        failed = {key: rows[0] for key, rows in served.items() if rows and rows[0].status == "failed"}

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            if not rows or rows[0].content_seq != failed[key].content_seq or rows[0].status != "queued":
                return None
            return [
                replace(
                    rows[0], status="failed", error=failed[key].error, extraction_pending=failed[key].extraction_pending
                )
            ]

        await self._store.documents.update(list(failed), change)

    async def replay_memories_of(self, incarnations: Collection[str], starts: TopicOffsets, ends: TopicOffsets) -> None:
        """Project the memories of incarnations that divisions left out, once all divisions are filled, and flush."""
        read = {
            topic: partitions_of(incarnations, ends[topic])
            for topic in (topics.MEMORIES_FORMED.name, topics.MEMORIES_FORGOTTEN.name)
        }
        reader = LogWindowReader(self._pipeline.bus, {topic: dict(at) for topic, at in starts.items()})
        self._store.bulk_loading = True
        try:
            await self._project_memories(reader, read, incarnations.__contains__)
            await self._wait_for_flush()
            await self._store.flush()
        finally:
            await self._wait_for_flush()
            self._store.bulk_loading = False

    async def _replay_memories(self, ends: TopicOffsets) -> None:
        await self._project_memories(self.reader, ends, lambda incarnation: incarnation not in self._undivided)

    async def _project_memories(
        self, reader: LogWindowReader, ends: TopicOffsets, is_included: Callable[[str], bool]
    ) -> None:
        early: list[Record[MemoriesFormed]] = []
        async for formed, offsets in reader.windows(topics.MEMORIES_FORMED, ends[topics.MEMORIES_FORMED.name]):
            if window := [record for record in formed if is_included(record.event.incarnation)]:
                await self._memories_stage.handle(window)
                early += filter(self._may_have_remote_premises, window)
            await self._after_window(topics.MEMORIES_FORMED, offsets)
        if early:
            await self._memories_stage.handle(early)
        async for forgotten, offsets in reader.windows(topics.MEMORIES_FORGOTTEN, ends[topics.MEMORIES_FORGOTTEN.name]):
            if hidden := [record for record in forgotten if is_included(record.event.incarnation)]:
                await self._forget_stage.handle(hidden)
            await self._after_window(topics.MEMORIES_FORGOTTEN, offsets)

    def _may_have_remote_premises(self, record: Record[MemoriesFormed]) -> bool:
        """Return whether inferences of this record may depend on a partition that is read later."""
        owner = self._store.catalog.namespace_of(record.event.incarnation)
        return owner is not None and len(owner.incarnations) > 1 and any(map(premises, record.event.memories))

    async def _after_window(self, topic: topics.Topic[Any], offsets: int) -> None:
        """Report progress, bound the memory in use, and let other tasks run."""
        self._report_progress(topic.name, offsets)
        await self._flush_if_large()

    async def _flush_if_large(self) -> None:
        store = self._store
        if (
            self.reader.bytes_read - self._flushed_at_bytes > MAX_UNFLUSHED_LOG_BYTES
            or store.unflushed_count > MAX_UNFLUSHED_KEYS
        ):
            self._flushed_at_bytes = self.reader.bytes_read
            # Flushing overlaps with the next window; wait here if the previous flush is not done.
            await self._wait_for_flush()
            self._flushing = asyncio.create_task(store.flush())
        await asyncio.sleep(0)

    async def _wait_for_flush(self) -> None:
        flushing, self._flushing = self._flushing, None
        if flushing is not None:
            await flushing


def _newest_by_document(events: Iterable[DocumentExtracted]) -> dict[str, DocumentExtracted]:
    """Map each document to the last event of its newest submission."""
    newest: dict[str, DocumentExtracted] = {}
    for event in events:
        if event.document not in newest or newest[event.document].seq <= event.seq:
            newest[event.document] = event
    return newest


def _is_done(row: DocumentRow, event: DocumentExtracted) -> bool:
    """Return whether an earlier pass has applied this text completely."""
    return row.status == "done" and row.text_seq == event.seq


def _apply_text_event(
    row: DocumentRow, failure: DocumentExtracted | None, event: DocumentExtracted | None, text: str
) -> DocumentRow:
    """Apply the events to a row as the stages would have, once they are all done."""
    if event is not None and row.text_seq <= event.seq <= row.content_seq and not _is_done(row, event):
        row = _with_text(row, event, text)
    if failure is not None and failure.seq == row.content_seq and row.text_seq < failure.seq:
        row = _apply_failure(row, failure)
    return row


def _with_text(row: DocumentRow, event: DocumentExtracted, text: str) -> DocumentRow:
    row = replace(
        row, text=text, text_seq=event.seq, type=event.type, title=event.title, summary=event.summary, url=event.url
    )
    if event.seq < row.content_seq:
        return row
    return replace(row, status="done", error=None, updated_at=max(row.updated_at, event.at))


def _apply_failure(row: DocumentRow, failure: DocumentExtracted) -> DocumentRow:
    """Mark a row as failed; an earlier text stays, with its memories."""
    row = replace(row, status="failed", error=failure.error)
    return row if row.text is not None else replace(row, extraction_pending=False, type=failure.type, url=failure.url)


class _MemorySourceFilter:
    """`ports.MemoryTable` that skips lookups of unseen documents, which would read the whole table."""

    def __init__(self, memories: MemoryTable) -> None:
        self._memories = memories
        self._seen_documents = KeyFilter[str]()

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[MemoryRow]]:
        return await self._memories.get(entity_keys)

    async def find_by_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        """Return the memories of documents that were asked for before; first lookups find none."""
        seen = self._seen_documents.may_contain(documents)
        self._seen_documents.add(documents)
        return await self._memories.find_by_documents(seen) if seen else []
