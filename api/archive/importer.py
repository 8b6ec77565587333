"""Import of export lines into the log; nothing is fetched, parsed or extracted again."""

from collections.abc import Sequence

from api.commands.document_submission import submit
from api.dependencies.app_state import AppState
from api.errors.http_errors import ConflictError
from api.policies import key_delegation
from api.policies.api_keys import KEYS_LOCK
from pipeline.rows import DocumentRow
from schemas.events import (
    DocumentSubmitted,
    FormedMemory,
    ImportedDocument,
    ImportedStatement,
    KeyChanged,
    MemoriesFormed,
    NamespaceChanged,
    OrganizationChanged,
    SettingsChanged,
)
from schemas.export_format import ExportedDocument, ExportedMemory, ExportEnd, ExportLine
from schemas.http.extensions.export_import_bodies import ImportResponse
from schemas.ids import first_namespace
from schemas.topics import MEMORIES_FORMED


async def import_lines(state: AppState, lines: Sequence[ExportLine], importing_key: str) -> ImportResponse:
    """Import lines in order; idempotent, unchanged content is skipped.

    Raises:
        ConflictError: a namespace already has content of its own here.
    """
    counts = ImportResponse(documents=0, memories=0, settings=0, unchanged=0)
    ended = _ended_incarnations(state, lines)
    batch: list[ExportedDocument] = []
    for line in lines:
        if isinstance(line, ExportedDocument):
            batch.append(line)
        elif not isinstance(line, ExportEnd):
            await _import_documents(state, batch, counts)
            batch = []
            counts.settings += await _import_setting(state, line, importing_key, ended)
    await _import_documents(state, batch, counts)
    return counts


def _ended_incarnations(state: AppState, lines: Sequence[ExportLine]) -> frozenset[str]:
    """Return those that ended here before this import: one that ends by it was moved to another namespace."""
    named = {incarnation for line in lines if isinstance(line, NamespaceChanged) for incarnation in line.incarnations}
    parts = {incarnation: incarnation.rpartition("#") for incarnation in named}
    return frozenset(each for each, (name, _, epoch) in parts.items() if int(epoch) < state.catalog.epoch(name))


async def _import_setting(
    state: AppState,
    change: OrganizationChanged | KeyChanged | NamespaceChanged,
    importing_key: str,
    ended: frozenset[str],
) -> int:
    """Import a setting; return 1 if it was new here, else 0."""
    async with state.settings_lock.acquire(*_settings_concerned(change)):
        key = _setting_key_if_new(state, change, ended)
        if key is None:
            return 0
        if isinstance(change, OrganizationChanged):
            change = change.model_copy(update={"updated_at": state.clock.now()})
        if isinstance(change, KeyChanged):
            change = key_delegation.adopted(change, importing_key, state.catalog.key)
        await state.settings_lock.publish(state.publisher, [(key, SettingsChanged(change=change))])
        return 1


def _settings_concerned(change: OrganizationChanged | KeyChanged | NamespaceChanged) -> list[str]:
    """Return what must not change meanwhile: of a namespace, also those that its incarnations began with."""
    if isinstance(change, NamespaceChanged):
        names = {change.name, *map(first_namespace, change.incarnations)}
        return [f"namespace/{name}" for name in names]
    return [KEYS_LOCK if isinstance(change, KeyChanged) else "organization"]


def _setting_key_if_new(
    state: AppState, change: OrganizationChanged | KeyChanged | NamespaceChanged, ended: frozenset[str]
) -> str | None:
    """Return the setting's record key; None if this deployment has its own, which is kept."""
    if isinstance(change, KeyChanged):
        return f"key/{change.id}" if state.catalog.key(change.id) is None else None
    if isinstance(change, OrganizationChanged):
        owned = state.catalog.organization()
        return "organization" if not owned.buckets and owned.context is None else None
    existing = state.catalog.namespace(change.name)
    if existing is not None and existing.incarnations == change.incarnations:
        return None
    if existing is not None or state.catalog.epoch(change.name) > change.epoch:
        raise ConflictError(
            "The namespace was used before",
            f"{change.name} can only be imported if it never had content of its own here.",
        )
    for incarnation in change.incarnations:
        if incarnation in ended:
            raise ConflictError("The content was deleted here", f"{incarnation} ended, and can't be had back.")
        owner = state.catalog.namespace_of(incarnation)
        if owner is not None:
            raise ConflictError("The content exists already", f"{owner.name} has {incarnation}.")
    return f"namespace/{change.name}"


async def _import_documents(state: AppState, lines: Sequence[ExportedDocument], counts: ImportResponse) -> None:
    if not lines:
        return
    _require_known_incarnations(state, lines)
    existing = await state.documents_by_key([line.key for line in lines])
    fresh = [line for line in lines if line.key not in existing]
    events = [event for line in fresh for event in await submission_events(state, line)]
    rows = {row.key: row for row in await submit(state, events)}
    # An earlier import may have stopped between a document and its memories: publish these again.
    unchanged = [line for line in lines if line.key in existing and _is_unchanged(existing[line.key], line)]
    rows |= {line.key: existing[line.key] for line in unchanged}
    supported = [line for line in [*fresh, *unchanged] if line.memories and line.key in rows]
    formed = [(line.incarnation, _memories_formed(line, rows[line.key])) for line in supported]
    await state.publisher.publish(MEMORIES_FORMED, formed)
    counts.documents += len(fresh)
    counts.unchanged += len(lines) - len(fresh)
    counts.memories += sum(len(line.memories) for line in fresh if line.key in rows)


def _require_known_incarnations(state: AppState, lines: Sequence[ExportedDocument]) -> None:
    for incarnation in {line.incarnation for line in lines}:
        if state.catalog.namespace_of(incarnation) is None:
            raise ConflictError(
                "The namespace is missing", f"Import the line of the namespace with {incarnation} first."
            )


def _is_unchanged(row: DocumentRow, line: ExportedDocument) -> bool:
    return row.updated_at == line.updated_at and (row.text is None or row.text == line.text)


async def submission_events(state: AppState, line: ExportedDocument) -> list[DocumentSubmitted]:
    """Build the submissions that restore a document with its original times."""
    imported = None
    if line.text is not None:
        text = await state.blobs.store_text(line.text)
        imported = ImportedDocument.of(line, text=text, error=None, memories=())
    elif line.error is not None:
        imported = ImportedDocument(error=line.error, type=line.type, memories_included=line.memories_included)
    first = DocumentSubmitted.of(
        line,
        operation="add",
        document=line.key,
        at=line.created_at,
        content=None if line.source_pending else line.source,
        upload=None if line.source_pending else line.upload,
        metadata=line.metadata or None,
        imported=imported,
    )
    if not line.source_pending and line.updated_at <= line.created_at:
        return [first]
    return [first, _pending_submission(line)]


def _pending_submission(line: ExportedDocument) -> DocumentSubmitted:
    """Build the submission of a source without a text yet, or only of the last change's time."""
    imported = None
    if line.source_pending and line.error is not None:
        imported = ImportedDocument(error=line.error, type=line.type, memories_included=line.memories_included)
    return DocumentSubmitted(
        operation="patch",
        incarnation=line.incarnation,
        document=line.key,
        id=line.id,
        at=line.updated_at,
        content=line.source if line.source_pending else None,
        upload=line.upload if line.source_pending else None,
        imported=imported,
    )


def _memories_formed(line: ExportedDocument, row: DocumentRow) -> MemoriesFormed:
    memories = tuple(imported_memory(memory) for memory in line.memories)
    return MemoriesFormed(
        incarnation=line.incarnation, document=line.key, seq=row.content_seq, at=line.updated_at, memories=memories
    )


def imported_memory(memory: ExportedMemory) -> FormedMemory:
    return FormedMemory.of(memory, incarnation=None, imported=ImportedStatement.of(memory))
