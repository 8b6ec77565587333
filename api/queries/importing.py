"""Lines of an export into the log, which stays the truth: nothing is fetched, parsed or formed again."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.problems import ConflictError
from api.queries.submit import write
from api.state import State
from pipeline.rows import DocumentRow
from schemas.archive import End, ExportedDocument, ExportedMemory, Line
from schemas.events import (
    Content,
    DocumentSubmitted,
    FormedMemory,
    KeyChanged,
    KnownText,
    MemoriesFormed,
    NamespaceChanged,
    OrganizationChanged,
    Restored,
    SettingsChanged,
)
from schemas.http.archive import ImportedAnswer
from schemas.topics import MEMORIES_FORMED, SETTINGS_CHANGED


@dataclass(slots=True)
class _Counts:
    documents: int = 0
    memories: int = 0
    settings: int = 0
    kept: int = 0


async def taken(state: State, lines: Sequence[Line]) -> ImportedAnswer:
    """All of these lines, in order; ConflictError where a namespace has a life of its own here.

    May be repeated: what is there already and unchanged is left as it is.
    """
    counts = _Counts()
    waiting: list[ExportedDocument] = []
    for line in lines:
        if isinstance(line, ExportedDocument):
            waiting.append(line)
        elif not isinstance(line, End):
            await _documents(state, waiting, counts)
            waiting = []
            counts.settings += await _setting(state, line)
    await _documents(state, waiting, counts)
    return ImportedAnswer(
        documents=counts.documents, memories=counts.memories, settings=counts.settings, kept=counts.kept
    )


async def _setting(state: State, change: OrganizationChanged | KeyChanged | NamespaceChanged) -> int:
    """One setting; 1 if it was new here."""
    async with state.changes.turn():
        key = _new_setting(state, change)
        if key is None:
            return 0
        if isinstance(change, OrganizationChanged):
            change = change.model_copy(update={"updated_at": state.clock.now()})
        event = SettingsChanged(change=change)
        await state.publisher.publish(SETTINGS_CHANGED, [(key, event)])
        state.catalog.apply(event)
        return 1


def _new_setting(state: State, change: OrganizationChanged | KeyChanged | NamespaceChanged) -> str | None:
    """The key of its topic; None where this deployment has one of its own, which stays."""
    if isinstance(change, KeyChanged):
        return f"key/{change.id}" if state.catalog.key(change.id) is None else None
    if isinstance(change, OrganizationChanged):
        owned = state.catalog.organization()
        return "organization" if not owned.buckets and owned.context is None else None
    known = state.catalog.namespace(change.name)
    if known is not None and known.spaces == change.spaces:
        return None
    if known is not None or state.catalog.generation(change.name) > change.generation:
        raise ConflictError(
            "The namespace was used here before",
            f"{change.name} can only be imported where it never had content of its own.",
        )
    for space in change.spaces:
        owner = state.catalog.owner(space)
        if owner is not None:
            raise ConflictError("The content is here already", f"{owner.name} has {space}.")
    return f"namespace/{change.name}"


async def _documents(state: State, lines: Sequence[ExportedDocument], counts: _Counts) -> None:
    if not lines:
        return
    _owned(state, lines)
    there = await state.documents.get([line.key for line in lines])
    fresh = [line for line in lines if not there.get(line.key)]
    events = [event for line in fresh for event in await _events(state, line)]
    rows = {row.key: row for row in await write(state, events)}
    # What was interrupted between a document and its memories goes on here.
    same = [line for line in lines if there.get(line.key) and _is_same(there[line.key][0], line)]
    rows |= {line.key: there[line.key][0] for line in same}
    supported = [line for line in [*fresh, *same] if line.memories and line.key in rows]
    formed = [(line.space, _formed(line, rows[line.key])) for line in supported]
    await state.publisher.publish(MEMORIES_FORMED, formed)
    counts.documents += len(fresh)
    counts.kept += len(lines) - len(fresh)
    counts.memories += sum(len(event.memories) for _, event in formed)


def _owned(state: State, lines: Sequence[ExportedDocument]) -> None:
    for space in {line.space for line in lines}:
        if state.catalog.owner(space) is None:
            raise ConflictError("The namespace is missing", f"Nobody has {space}: its line comes first.")


def _is_same(row: DocumentRow, line: ExportedDocument) -> bool:
    return row.updated_at == line.updated_at and (row.text is None or row.text == line.text)


async def _events(state: State, line: ExportedDocument) -> list[DocumentSubmitted]:
    """What has to be submitted for the document to become what it was, with its times."""
    known = None
    if line.text is not None:
        known = _known(line, await state.blobs.pack(line.text))
    elif line.error is not None:
        known = KnownText(error=line.error, type=line.type, formed=line.formed)
    first = DocumentSubmitted(
        operation="add",
        space=line.space,
        document=line.key,
        id=line.id,
        at=line.created_at,
        content=None if line.stale else line.source,
        upload=None if line.stale else line.upload,
        metadata=line.metadata or None,
        group=line.group,
        supporting_context=line.supporting_context,
        date=line.date,
        task_type=line.task_type,
        dreaming=line.dreaming,
        title=line.title,
        url=line.url,
        known=known,
    )
    if not line.stale and line.updated_at <= line.created_at:
        return [first]
    return [first, _later(line)]


def _later(line: ExportedDocument) -> DocumentSubmitted:
    """What was sent last and is no text, or nothing but the time of the last change."""
    known = None
    if line.stale and line.error is not None:
        known = KnownText(error=line.error, type=line.type, formed=line.formed)
    return DocumentSubmitted(
        operation="patch",
        space=line.space,
        document=line.key,
        id=line.id,
        at=line.updated_at,
        content=line.source if line.stale else None,
        upload=line.upload if line.stale else None,
        known=known,
    )


def _known(line: ExportedDocument, text: Content) -> KnownText:
    return KnownText(
        text=text,
        type=line.type,
        title=line.title,
        summary=line.summary,
        url=line.url,
        formed=line.formed,
    )


def _formed(line: ExportedDocument, row: DocumentRow) -> MemoriesFormed:
    memories = tuple(_restored(one) for one in line.memories)
    return MemoriesFormed(
        space=line.space, document=line.key, seq=row.content_seq, at=line.updated_at, memories=memories
    )


def _restored(one: ExportedMemory) -> FormedMemory:
    return FormedMemory(
        id=one.id,
        text=one.text,
        is_static=one.is_static,
        is_inference=one.is_inference,
        date=one.date,
        event_dates=one.event_dates,
        start=one.start,
        end=one.end,
        relations=one.relations,
        replaced_by=one.replaced_by,
        restored=Restored(
            space=one.space,
            since=one.since,
            at=one.at,
            forgotten_at=one.forgotten_at,
            forget_reason=one.forget_reason,
        ),
    )
