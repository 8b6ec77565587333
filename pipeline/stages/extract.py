"""documents.submitted → documents.extracted: what somebody sent becomes canonical text, appended or replaced.

The table says how far a document is: `text_seq` is the submission its text stands for, so a record that
comes again finds its work done and at most publishes the same event once more.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.breath import Breath
from pipeline.errors import ExtractionError, RejectedError, RetryableError
from pipeline.memory.keeper import Keeper
from pipeline.ports import (
    Blobs,
    Catalog,
    Chunks,
    Documents,
    Extracted,
    Extractor,
    Fetcher,
    Publisher,
    Tombstones,
)
from pipeline.projection import touches_content
from pipeline.rows import DocumentRow
from pipeline.stage import Stage
from pipeline.stages.giving_up import take_up
from pipeline.stages.submissions import (
    Failed,
    History,
    Resolved,
    Submission,
    foreseen,
    handed_on,
    is_erased,
    pending_of,
    projected,
    settled,
    with_text,
)
from pipeline.tombstones import LocalTombstones, bury_late
from schemas.events import Content, DocumentExtracted, DocumentSubmitted, KnownText
from schemas.limits import TEXT_CHARACTERS
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED

log = logging.getLogger(__name__)

BATCH = 128
PARALLEL = 8
"""Documents of one batch that may be fetched or parsed at the same time."""
URL_LENGTH = 2048
_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Extract:
    """The stage's work as functions of its ports. `backoff`: seconds before each retry of a fetch."""

    documents: Documents
    chunks: Chunks
    keeper: Keeper
    blobs: Blobs
    catalog: Catalog
    publisher: Publisher
    extractor: Extractor
    fetcher: Fetcher
    summarize: Callable[[str], str | None]
    tombstones: Tombstones
    backoff: tuple[float, ...] = (1.0, 4.0)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL))

    async def handle(self, batch: Sequence[Submission]) -> None:
        """Quick documents together first; what must be fetched or parsed then, several at a time."""
        for record in batch:
            _see_that_it_was_somebodys(self.catalog, record.event.space)
        histories = await self._owned(batch)
        if not histories:
            return
        breath = Breath()
        rows = await self._project(histories, projected)
        await self._erase(histories, rows)
        rows |= await self._taken_up(histories)
        await self._republish(histories, rows)
        pending = pending_of(histories, rows)
        quick = {key: history for key, history in pending.items() if all(map(_is_quick, history))}
        await breath.taken()
        await self._work_together(rows, quick, breath)
        await self._work_apart(rows, {key: pending[key] for key in pending if key not in quick})
        await self._durable()

    async def foresee(self, batch: Sequence[Submission]) -> None:
        """What these do to the documents, ahead of the stage: as the interface did when it accepted them."""
        deletions = (record for record in batch if record.event.operation == "delete")
        await self.tombstones.note({record.event.document: record.offset for record in deletions})
        histories = await self._owned(batch)
        await self._erase(histories, await self._project(histories, foreseen))

    async def _owned(self, batch: Sequence[Submission]) -> dict[str, History]:
        histories: dict[str, History] = {}
        # Of a document that the interface has deleted since, the log says so further on.
        buried = await self.tombstones.newest({record.event.document for record in batch})
        for record in batch:
            if self.catalog.owner(record.event.space) is None:
                log.info("Dropped a submission to %s: the namespace was deleted.", record.event.space)
                continue
            if record.offset >= buried.get(record.event.document, -1):
                histories.setdefault(record.event.document, []).append(record)
        return histories

    async def _project(
        self,
        histories: Mapping[str, History],
        project: Callable[[DocumentRow | None, History], DocumentRow | None],
    ) -> dict[str, DocumentRow]:
        """The rows after these submissions, by key; documents that are gone are left out."""
        buried = await self.tombstones.newest(histories)

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            before = rows[0] if rows else None
            after = project(before, [one for one in histories[key] if one.offset >= buried.get(key, -1)])
            return None if after == before else [after] if after is not None else []

        rows = await self.documents.update(list(histories), change)
        rows |= await bury_late(self.documents, self.tombstones, histories, buried)
        return {key: found[0] for key, found in rows.items() if found}

    async def give_up(self, record: Submission, reason: str) -> None:
        """The document can't be read, and says why."""
        if touches_content(record.event):
            failed = Failed(record, reason, url=_url(record.event))
            await self._settle({record.event.document: [failed]})
            await self.documents.durable()

    async def _taken_up(self, histories: Mapping[str, History]) -> dict[str, DocumentRow]:
        """The rows of documents that are given another try."""
        again = [(key, one.offset) for key, history in histories.items() for one in history if one.redriven]
        await take_up(self.documents, again, "chunking", dreaming=True)
        rows = await self.documents.get([key for key, _ in again]) if again else {}
        return {key: found[0] for key, found in rows.items() if found}

    async def _erase(self, histories: Mapping[str, History], rows: Mapping[str, DocumentRow]) -> None:
        """A deleted document takes its chunks along, and the memories that only it supported."""
        gone = {key for key, history in histories.items() if is_erased(rows.get(key), history)}
        if not gone:
            return
        erased = self.chunks.update(gone, lambda _, rows: [] if rows else None)
        await asyncio.gather(erased, self.keeper.withdraw(gone))

    async def _republish(self, histories: Mapping[str, History], rows: Mapping[str, DocumentRow]) -> None:
        """Texts that were stored by a run that ended before it could publish them."""
        again = [
            (record, row)
            for key, row in rows.items()
            if row.status == "chunking"
            for record in histories[key]
            if record.offset == row.text_seq == row.content_seq
        ]
        await self._publish(again)

    async def _work_together(
        self, rows: Mapping[str, DocumentRow], pending: Mapping[str, History], breath: Breath
    ) -> None:
        resolved: dict[str, list[Resolved | Failed]] = {}
        for key, history in pending.items():
            resolved[key] = await self._resolve(rows[key], history)
            await breath.taken()
        await self._settle(resolved)

    async def _work_apart(self, rows: Mapping[str, DocumentRow], pending: Mapping[str, History]) -> None:
        """Each document is stored as soon as it is there, however long the others take."""

        async def resolve(key: str) -> dict[str, list[Resolved | Failed]]:
            async with self.slots:
                return {key: await self._resolve(rows[key], pending[key])}

        tasks = [asyncio.create_task(resolve(key)) for key in pending]
        try:
            for finished in asyncio.as_completed(tasks):
                await self._settle(await finished)
        finally:
            for task in tasks:
                task.cancel()

    async def _resolve(self, row: DocumentRow, history: History) -> list[Resolved | Failed]:
        """One document's submissions in order, each building on the text before it."""
        outcomes: list[Resolved | Failed] = []
        for record in history:
            try:
                one = await self._read(row, record)
            except (ExtractionError, RejectedError, RetryableError) as error:
                log.warning("Document %s of %s failed: %s", record.event.id, record.event.space, error)
                kind = error.kind if isinstance(error, ExtractionError) else None
                outcomes.append(Failed(record, str(error), kind, _url(record.event)))
            else:
                outcomes.append(one)
                row = with_text(row, one)
        return outcomes

    async def _read(self, row: DocumentRow, record: Submission) -> Resolved:
        event = record.event
        if not touches_content(event):
            return Resolved(record, row.text or "", row.type, row.title, row.summary, row.url)
        if event.known is not None:
            return await self._known(record, event.known)
        found, url = await self._extracted(event)
        if event.operation != "add" or not row.text:
            title = event.title or found.title
            return Resolved(record, found.text, found.type, title, self.summarize(found.text), url)
        text = appended(row.text, found.text)
        if len(text) > TEXT_CHARACTERS:
            raise ExtractionError(
                f"With this addition the text has {len(text):,} characters; a document may have "
                f"{TEXT_CHARACTERS:,}. Add it under another id."
            )
        title = row.title or found.title
        return Resolved(record, text, row.type, title, self.summarize(text), url or row.url)

    async def _known(self, record: Submission, known: KnownText) -> Resolved:
        """What an export says the document became."""
        if known.text is None:
            error = ExtractionError(known.error or "It could not be read where it was exported.")
            error.kind = known.type
            raise error
        text = await self.blobs.text(known.text)
        return Resolved(record, text, known.type, known.title, known.summary, known.url)

    async def _extracted(self, event: DocumentSubmitted) -> tuple[Extracted, str | None]:
        if event.upload is not None:
            upload = event.upload
            data = await self.blobs.get(upload.blob)
            return await self._patiently(lambda: self.extractor.file(data, upload)), event.url or None
        if event.content is None:
            raise ExtractionError("The submission has neither content nor a file.")
        text = await self.blobs.text(event.content)
        url = given_url(text) if event.url is None else None
        if url is None:
            return await self._patiently(lambda: self.extractor.text(text)), event.url or None
        return await self._patiently(lambda: self._fetched(url)), url

    async def _fetched(self, url: str) -> Extracted:
        data, upload = await self.fetcher.fetch(url)
        return await self.extractor.file(data, upload)

    async def _patiently(self, attempt: Callable[[], Awaitable[Extracted]]) -> Extracted:
        """Again after each pause of `backoff`; what still fails then fails the document."""
        for pause in self.backoff:
            try:
                return await attempt()
            except RetryableError as error:
                log.info("Trying again in %s s: %s", pause, error)
                await asyncio.sleep(pause)
        return await attempt()

    async def _settle(self, outcomes: Mapping[str, list[Resolved | Failed]]) -> None:
        """Store what came out, then publish it: the status may only move on after the text is there."""
        if not outcomes:
            return
        buried = await self.tombstones.newest(outcomes)

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            left = [one for one in outcomes[key] if one.record.offset >= buried.get(key, -1)]
            return [settled(rows[0], left)] if rows and left else None

        rows = await self.documents.update(list(outcomes), change)
        settled_rows = {key: found[0] for key, found in rows.items() if found}
        await self._publish_failures(settled_rows, outcomes)
        await self._publish(
            [one for key, row in settled_rows.items() for one in handed_on(row, outcomes[key])]
        )

    async def _publish(self, entries: Sequence[tuple[Submission, DocumentRow]]) -> None:
        if entries:
            events = [(record.key, await self._event(record, row)) for record, row in entries]
            await self.publisher.publish(DOCUMENTS_EXTRACTED, events)

    async def _publish_failures(
        self, rows: Mapping[str, DocumentRow], outcomes: Mapping[str, Sequence[Resolved | Failed]]
    ) -> None:
        """That there is no text and why, so that whoever reads the log later need not try again."""
        failures = [
            (one.record.key, _failure(one.record, row))
            for key, row in rows.items()
            for one in outcomes[key]
            if isinstance(one, Failed) and row.status == "failed" and row.content_seq == one.record.offset
        ]
        if failures:
            await self.publisher.publish(DOCUMENTS_EXTRACTED, failures)

    async def _event(self, record: Submission, row: DocumentRow) -> DocumentExtracted:
        return DocumentExtracted(
            space=row.space,
            document=row.key,
            id=row.id,
            seq=row.text_seq,
            at=record.event.at,
            text=await self.blobs.pack(row.text or ""),
            type=row.type,
            title=row.title,
            summary=row.summary,
            url=row.url,
            date=row.date,
            group=row.group,
            supporting_context=row.supporting_context,
            task_type=row.task_type,
            dreaming=row.dreaming_mode,
            formed=record.event.known is not None and record.event.known.formed,
        )

    async def _durable(self) -> None:
        await asyncio.gather(self.documents.durable(), self.chunks.durable(), self.keeper.durable())


def build(
    *,
    documents: Documents,
    chunks: Chunks,
    keeper: Keeper,
    blobs: Blobs,
    catalog: Catalog,
    publisher: Publisher,
    extractor: Extractor,
    fetcher: Fetcher,
    summarize: Callable[[str], str | None],
    tombstones: Tombstones | None = None,
    backoff: tuple[float, ...] = (1.0, 4.0),
) -> Stage[DocumentSubmitted]:
    """The stage `extract`. `summarize` is pure; `backoff` bounds how often a URL is tried again.

    `tombstones`: what the interface deletes, ahead of the log.
    """
    work = Extract(
        documents=documents,
        chunks=chunks,
        keeper=keeper,
        blobs=blobs,
        catalog=catalog,
        publisher=publisher,
        extractor=extractor,
        fetcher=fetcher,
        summarize=summarize,
        tombstones=tombstones or LocalTombstones(),
        backoff=backoff,
    )
    return Stage(
        name="extract",
        source=DOCUMENTS_SUBMITTED,
        handle=work.handle,
        batch=BATCH,
        give_up=work.give_up,
        foresee=work.foresee,
    )


def appended(old: str, new: str) -> str:
    """The text of a document after `new` was added to it.

    >>> appended("Rain.", "Rain.\\n\\nThen sun.")
    'Rain.\\n\\nThen sun.'
    >>> appended("Rain.", "Wind.")
    'Rain.\\n\\nWind.'
    """
    if not new or new == old:
        return old
    if new.startswith(old):
        return new
    return f"{old}\n\n{new}"


def _see_that_it_was_somebodys(catalog: Catalog, space: str) -> None:
    """What comes late to a namespace that ended is dropped; what was never anybody's is no such thing."""
    name, _, life = space.rpartition("#")
    ended = life.isdecimal() and int(life) < catalog.generation(name)
    if not ended and catalog.owner(space) is None:
        raise RejectedError(
            f"No namespace has the space {space[:200]!r}, and none ever had. It can be replayed once one has."
        )


def given_url(text: str) -> str | None:
    """The URL, if the content is exactly one http(s) URL."""
    token = text.strip() if len(text) <= URL_LENGTH + 64 else ""
    return token if len(token) <= URL_LENGTH and _URL.fullmatch(token) else None


def _is_quick(record: Submission) -> bool:
    """A text to take as it is: nothing to fetch, no file and no markup to parse."""
    event = record.event
    if event.known is not None:
        return True
    if event.upload is not None:
        return False
    text = event.content.text if event.content is not None else ""
    return (
        text is not None and text.lstrip()[:1] != "<" and (event.url is not None or given_url(text) is None)
    )


def _failure(record: Submission, row: DocumentRow) -> DocumentExtracted:
    return DocumentExtracted(
        space=row.space,
        document=row.key,
        id=row.id,
        seq=record.offset,
        at=record.event.at,
        text=Content(text=""),
        type=row.type,
        url=row.url,
        error=row.error,
    )


def _url(event: DocumentSubmitted) -> str | None:
    """Where it came from; a URL as content is short, so it is never a claim check."""
    if event.url is not None or event.content is None:
        return event.url
    return given_url(event.content.text or "")
