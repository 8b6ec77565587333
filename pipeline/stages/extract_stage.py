"""documents.submitted → documents.extracted: parse submissions into canonical text, appended or replaced.

Progress is stored in the row: `text_seq` is the submission of the stored text, so a redelivered record finds
its work done and at most publishes the same event again.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pipeline.errors import ParsingError, RejectedError, RetryableError
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.ports import (
    Blobs,
    Catalog,
    ChunkTable,
    DocumentParser,
    DocumentTable,
    Fetcher,
    ParsedDocument,
    Publisher,
    Tombstones,
)
from pipeline.projection import touches_content
from pipeline.rows import DocumentRow
from pipeline.runtime.cooperative_yield import CooperativeYield
from pipeline.stage import Stage
from pipeline.stages.submission_projection import (
    FailedSubmission,
    ResolvedSubmission,
    Submission,
    SubmissionHistory,
    apply_outcomes,
    apply_submissions,
    begin_processing,
    is_erased,
    pending_submissions,
    reset_for_retry,
    texts_to_publish,
    with_text,
)
from pipeline.tombstones import LocalTombstones
from schemas.address_secrets import mask_secrets
from schemas.base import replace_unstorable
from schemas.events import Content, DocumentExtracted, DocumentSubmitted, ImportedDocument
from schemas.limits import MAX_TEXT_CHARS
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED

log = logging.getLogger(__name__)

BATCH_SIZE = 128
MAX_CONCURRENT_DOCUMENTS = 8
"""Documents of one batch that are fetched or parsed concurrently."""
MAX_URL_LENGTH = 2048
_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExtractStage:
    """Projects submissions and parses them; `retry_delays`: seconds before each retry of a fetch."""

    documents: DocumentTable
    chunks: ChunkTable
    memory_repository: MemoryRepository
    blobs: Blobs
    catalog: Catalog
    publisher: Publisher
    document_parser: DocumentParser
    url_fetcher: Fetcher
    summarize: Callable[[str], str | None]
    tombstones: Tombstones = field(default_factory=LocalTombstones)
    retry_delays: tuple[float, ...] = (1.0, 4.0)
    concurrency_limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_DOCUMENTS))

    @property
    def definition(self) -> Stage[DocumentSubmitted]:
        return Stage(
            name="extract",
            source=DOCUMENTS_SUBMITTED,
            handle=self.handle,
            batch_size=BATCH_SIZE,
            on_dead_letter=self.on_dead_letter,
            apply_optimistically=self.apply_optimistically,
        )

    async def handle(self, batch: Sequence[Submission]) -> None:
        """Process documents without I/O together, then fetch and parse the others concurrently."""
        for record in batch:
            _reject_unknown_incarnation(self.catalog, record.event.incarnation)
        # A former owner of the partition that still works must not bring back what this batch deletes.
        await self._record_deletions(batch)
        histories = await self._group_by_document(batch)
        if not histories:
            return
        cooperative_yield = CooperativeYield()
        resolved = await self._resolve_ahead(histories, cooperative_yield)
        rows = await self._apply_projection(histories, begin_processing, resolved)
        await self._delete_derived_rows(histories, rows)
        rows |= await self._reset_for_retry(histories)
        stored = {key: ahead.outcomes for key, ahead in resolved.items() if rows.get(key) == ahead.row}
        await self._publish_outcomes({key: rows[key] for key in stored}, stored)
        await self._republish_unpublished(histories, {key: row for key, row in rows.items() if key not in stored})
        await cooperative_yield.checkpoint()
        await self._process_concurrently(rows, pending_submissions(histories, rows))
        await self._wait_until_durable()

    async def apply_optimistically(self, batch: Sequence[Submission]) -> None:
        """Apply the submissions to rows ahead of the stage, and delete what deleted documents supported."""
        histories, rows = await self._apply_ahead(batch)
        await self._delete_derived_rows(histories, rows)

    async def apply_to_documents(self, batch: Sequence[Submission]) -> None:
        """Apply the submissions to document rows ahead of the stage, where one process has the log and the tables."""
        await self._apply_ahead([record for record in batch if not record.redriven])

    async def _apply_ahead(
        self, batch: Sequence[Submission]
    ) -> tuple[dict[str, SubmissionHistory], dict[str, DocumentRow]]:
        await self._record_deletions(batch)
        histories = await self._group_by_document(batch)
        return histories, await self._apply_projection(histories, apply_submissions)

    async def _record_deletions(self, batch: Sequence[Submission]) -> None:
        deletions = (record for record in batch if record.event.operation == "delete")
        await self.tombstones.record({record.event.document: record.offset for record in deletions})

    async def _group_by_document(self, batch: Sequence[Submission]) -> dict[str, SubmissionHistory]:
        histories: dict[str, SubmissionHistory] = {}
        incarnations = {record.event.document: record.event.incarnation for record in batch}
        self.documents.hint_incarnations(incarnations)
        self.chunks.hint_incarnations(incarnations)
        # Skip records before a deletion by the interface; the log holds that deletion further on.
        buried = await self.tombstones.latest_deletions({record.event.document for record in batch})
        for record in batch:
            if self.catalog.namespace_of(record.event.incarnation) is None:
                log.info("Dropped a submission to %s: the namespace was deleted.", record.event.incarnation)
                continue
            if record.offset >= buried.get(record.event.document, -1):
                histories.setdefault(record.event.document, []).append(record)
        return histories

    async def _apply_projection(
        self,
        histories: Mapping[str, SubmissionHistory],
        project: Callable[[DocumentRow | None, SubmissionHistory], DocumentRow | None],
        resolved: Mapping[str, "_ResolvedAhead"] = MappingProxyType({}),
    ) -> dict[str, DocumentRow]:
        """Rows after these submissions, by key, without deleted documents."""
        buried: dict[str, int] = {}

        async def read_deletions() -> None:
            # Read when nobody else can write the rows: a deletion that is not recorded by now comes after this.
            buried.update(await self.tombstones.latest_deletions(histories))

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            before = rows[0] if rows else None
            after = project(before, [record for record in histories[key] if record.offset >= buried.get(key, -1)])
            if (ahead := resolved.get(key)) is not None and after == ahead.projected:
                after = ahead.row
            return None if after == before else [after] if after is not None else []

        rows = await self.documents.update(list(histories), change, read_deletions)
        return {key: found[0] for key, found in rows.items() if found}

    async def on_dead_letter(self, record: Submission, reason: str) -> None:
        """Mark the document as failed with the reason."""
        if touches_content(record.event):
            failed = FailedSubmission(record, reason, url=_source_url(record.event))
            await self._store_outcomes({record.event.document: [failed]})
            await self.documents.wait_until_durable()

    async def _reset_for_retry(self, histories: Mapping[str, SubmissionHistory]) -> dict[str, DocumentRow]:
        """Reset redriven documents; returns their rows."""
        again = [(key, record.offset) for key, history in histories.items() for record in history if record.redriven]
        await reset_for_retry(self.documents, again, "chunking", extraction_pending=True)
        rows = await self.documents.get([key for key, _ in again]) if again else {}
        return {key: found[0] for key, found in rows.items() if found}

    async def _delete_derived_rows(
        self, histories: Mapping[str, SubmissionHistory], rows: Mapping[str, DocumentRow]
    ) -> None:
        """Delete the chunks of deleted documents, and memories that only they supported."""
        gone = {key for key, history in histories.items() if is_erased(rows.get(key), history)}
        if not gone:
            return
        erased = self.chunks.update(gone, lambda _, rows: [] if rows else None)
        await asyncio.gather(erased, self.memory_repository.remove_documents(gone))

    async def _republish_unpublished(
        self, histories: Mapping[str, SubmissionHistory], rows: Mapping[str, DocumentRow]
    ) -> None:
        """Publish texts that a crashed run stored and did not publish."""
        again = [
            (record, row)
            for key, row in rows.items()
            if row.status == "chunking"
            for record in histories[key]
            if record.offset == row.text_seq == row.content_seq
        ]
        await self._publish_texts(again)

    async def _resolve_ahead(
        self, histories: Mapping[str, SubmissionHistory], cooperative_yield: CooperativeYield
    ) -> dict[str, "_ResolvedAhead"]:
        """Resolve documents without I/O before their rows are written, so that they are written once."""
        quick = {
            key: history
            for key, history in histories.items()
            # Chunks and memories of a deleted document go before it gets a text again.
            if all(_needs_no_io(record) and _is_plain(record) for record in history)
        }
        found = await self.documents.get(quick)
        projected: dict[str, DocumentRow] = {}
        for key, history in quick.items():
            row = begin_processing(found[key][0] if found.get(key) else None, history)
            if row is not None:
                projected[key] = row
        resolved: dict[str, _ResolvedAhead] = {}
        for key, history in pending_submissions(quick, projected).items():
            outcomes = await self._resolve_submissions(projected[key], history)
            resolved[key] = _ResolvedAhead(projected[key], outcomes, apply_outcomes(projected[key], outcomes))
            await cooperative_yield.checkpoint()
        return resolved

    async def _process_concurrently(
        self, rows: Mapping[str, DocumentRow], pending: Mapping[str, SubmissionHistory]
    ) -> None:
        """Store each document as soon as it is parsed, without waiting for the others."""

        async def resolve(key: str) -> dict[str, list[ResolvedSubmission | FailedSubmission]]:
            async with self.concurrency_limit:
                return {key: await self._resolve_submissions(rows[key], pending[key])}

        tasks = [asyncio.create_task(resolve(key)) for key in pending]
        try:
            for finished in asyncio.as_completed(tasks):
                await self._store_outcomes(await finished)
        finally:
            for task in tasks:
                task.cancel()

    async def _resolve_submissions(
        self, row: DocumentRow, history: SubmissionHistory
    ) -> list[ResolvedSubmission | FailedSubmission]:
        """Resolve one document's submissions in order, each building on the text before it."""
        outcomes: list[ResolvedSubmission | FailedSubmission] = []
        for record in history:
            try:
                outcome = await self._resolve_submission(row, record)
            except (ParsingError, RejectedError, RetryableError) as error:
                log.warning("Document %s of %s failed: %s", record.event.id, record.event.incarnation, error)
                kind = error.document_type if isinstance(error, ParsingError) else None
                outcomes.append(FailedSubmission(record, str(error), kind, _source_url(record.event)))
            else:
                outcomes.append(outcome)
                row = with_text(row, outcome)
        return outcomes

    async def _resolve_submission(self, row: DocumentRow, record: Submission) -> ResolvedSubmission:
        event = record.event
        if not touches_content(event):
            return ResolvedSubmission(record, row.text or "", row.type, row.title, row.summary, row.url)
        if event.imported is not None:
            return await self._resolve_imported(record, event.imported)
        found, url = await self._parse(event)
        if event.operation != "add" or not row.text:
            title = event.title or found.title
            return ResolvedSubmission(record, found.text, found.type, title, self.summarize(found.text), url)
        text = append_text(row.text, found.text)
        if len(text) > MAX_TEXT_CHARS:
            raise ParsingError(
                f"With this addition the text has {len(text):,} characters; a document may have "
                f"{MAX_TEXT_CHARS:,}. Add it under another id."
            )
        title = row.title or found.title
        return ResolvedSubmission(record, text, row.type, title, self.summarize(text), url or row.url)

    async def _resolve_imported(self, record: Submission, imported: ImportedDocument) -> ResolvedSubmission:
        """Take over the result of the exporting service."""
        if imported.text is None:
            error = ParsingError(imported.error or "It could not be read where it was exported.")
            error.document_type = imported.type
            raise error
        text = await self.blobs.load_text(imported.text)
        return ResolvedSubmission(record, text, imported.type, imported.title, imported.summary, imported.url)

    async def _parse(self, event: DocumentSubmitted) -> tuple[ParsedDocument, str | None]:
        found, url = await self._parse_source(event)
        title = None if found.title is None else replace_unstorable(found.title)
        return replace(found, text=replace_unstorable(found.text), title=title), url

    async def _parse_source(self, event: DocumentSubmitted) -> tuple[ParsedDocument, str | None]:
        if event.upload is not None:
            upload = event.upload
            data = await self.blobs.get(upload.blob)
            return await self._with_retries(lambda: self.document_parser.parse_file(data, upload)), event.url or None
        if event.content is None:
            raise ParsingError("The submission has neither content nor a file.")
        text = await self.blobs.load_text(event.content)
        url = single_url(text) if event.url is None else None
        if url is None:
            return await self._with_retries(lambda: self.document_parser.parse_text(text)), event.url or None
        return await self._with_retries(lambda: self._fetch_and_parse(url)), mask_secrets(url)

    async def _fetch_and_parse(self, url: str) -> ParsedDocument:
        data, upload = await self.url_fetcher.fetch(url)
        return await self.document_parser.parse_file(data, upload)

    async def _with_retries(self, attempt: Callable[[], Awaitable[ParsedDocument]]) -> ParsedDocument:
        """Retry after each of `retry_delays`; the last error propagates."""
        for pause in self.retry_delays:
            try:
                return await attempt()
            except RetryableError as error:
                log.info("Trying again in %s s: %s", pause, error)
                await asyncio.sleep(pause)
        return await attempt()

    async def _store_outcomes(self, outcomes: Mapping[str, list[ResolvedSubmission | FailedSubmission]]) -> None:
        """Store outcomes, then publish them: the status advances only once the text is stored."""
        if not outcomes:
            return
        buried = await self.tombstones.latest_deletions(outcomes)

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            left = [outcome for outcome in outcomes[key] if outcome.record.offset >= buried.get(key, -1)]
            return [apply_outcomes(rows[0], left)] if rows and left else None

        rows = await self.documents.update(list(outcomes), change)
        await self._publish_outcomes({key: found[0] for key, found in rows.items() if found}, outcomes)

    async def _publish_outcomes(
        self, rows: Mapping[str, DocumentRow], outcomes: Mapping[str, Sequence[ResolvedSubmission | FailedSubmission]]
    ) -> None:
        await self._publish_failures(rows, outcomes)
        await self._publish_texts(
            [outcome for key, row in rows.items() for outcome in texts_to_publish(row, outcomes[key])]
        )

    async def _publish_texts(self, entries: Sequence[tuple[Submission, DocumentRow]]) -> None:
        if entries:
            events = [(record.key, await self._to_event(record, row)) for record, row in entries]
            await self.publisher.publish(DOCUMENTS_EXTRACTED, events)

    async def _publish_failures(
        self, rows: Mapping[str, DocumentRow], outcomes: Mapping[str, Sequence[ResolvedSubmission | FailedSubmission]]
    ) -> None:
        """Publish failures, so that a replay need not parse again."""
        failures = [
            (outcome.record.key, _failure_event(outcome.record, row))
            for key, row in rows.items()
            for outcome in outcomes[key]
            if isinstance(outcome, FailedSubmission)
            and row.status == "failed"
            and row.content_seq == outcome.record.offset
        ]
        if failures:
            await self.publisher.publish(DOCUMENTS_EXTRACTED, failures)

    async def _to_event(self, record: Submission, row: DocumentRow) -> DocumentExtracted:
        imported = record.event.imported
        return DocumentExtracted(
            incarnation=row.incarnation,
            document=row.key,
            id=row.id,
            seq=row.text_seq,
            # Clocks differ and are set back: nothing of a document is older than the document.
            at=max(record.event.at, row.created_at),
            text=await self.blobs.store_text(row.text or ""),
            type=row.type,
            title=row.title,
            summary=row.summary,
            url=row.url,
            date=row.date,
            group=row.group_metadata,
            supporting_context=row.supporting_context,
            task_type=row.task_type,
            dreaming=row.extraction_mode,
            memories_included=imported is not None and imported.memories_included,
            memories=() if imported is None else imported.memories,
        )

    async def _wait_until_durable(self) -> None:
        await asyncio.gather(
            self.documents.wait_until_durable(),
            self.chunks.wait_until_durable(),
            self.memory_repository.wait_until_durable(),
        )


@dataclass(frozen=True, slots=True)
class _ResolvedAhead:
    """Outcomes for a row that the projection is expected to give, and the row after them."""

    projected: DocumentRow
    outcomes: Sequence[ResolvedSubmission | FailedSubmission]
    row: DocumentRow


def append_text(old: str, new: str) -> str:
    """The text of a document after `new` was added to it.

    >>> append_text("Rain.", "Rain.\\n\\nThen sun.")
    'Rain.\\n\\nThen sun.'
    >>> append_text("Rain.", "Wind.")
    'Rain.\\n\\nWind.'
    """
    if not new or new == old:
        return old
    if new.startswith(old):
        return new
    return f"{old}\n\n{new}"


def _reject_unknown_incarnation(catalog: Catalog, incarnation: str) -> None:
    """Let late events of deleted namespaces pass; dead-letter events of namespaces that never existed."""
    name, _, epoch = incarnation.rpartition("#")
    ended = epoch.isdecimal() and int(epoch) < catalog.epoch(name)
    if not ended and catalog.namespace_of(incarnation) is None:
        raise RejectedError(
            f"No namespace has the incarnation {incarnation[:200]!r}, and none ever had."
            " It can be replayed once one has."
        )


def single_url(text: str) -> str | None:
    """The URL, if the content is exactly one http(s) URL."""
    token = text.strip() if len(text) <= MAX_URL_LENGTH + 64 else ""
    return token if len(token) <= MAX_URL_LENGTH and _URL.fullmatch(token) else None


def _needs_no_io(record: Submission) -> bool:
    """Return whether the text is stored unchanged: nothing to fetch, no file and no markup."""
    event = record.event
    if event.imported is not None:
        return True
    if event.upload is not None:
        return False
    text = event.content.text if event.content is not None else ""
    return text is not None and text.lstrip()[:1] != "<" and (event.url is not None or single_url(text) is None)


def _is_plain(record: Submission) -> bool:
    return not record.redriven and record.event.operation != "delete"


def _failure_event(record: Submission, row: DocumentRow) -> DocumentExtracted:
    return DocumentExtracted(
        incarnation=row.incarnation,
        document=row.key,
        id=row.id,
        seq=record.offset,
        at=record.event.at,
        text=Content(text=""),
        type=row.type,
        url=row.url,
        error=row.error,
    )


def _source_url(event: DocumentSubmitted) -> str | None:
    """The URL of the submission; a URL as content is short, hence never a claim check."""
    if event.url is not None or event.content is None:
        return event.url
    url = single_url(event.content.text or "")
    return None if url is None else mask_secrets(url)
