"""Export of a deployment as lines of JSON, read a few documents at a time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from pydantic import BaseModel

from api.dependencies.app_state import AppState
from pipeline.memory.versioning.provenance import provenance_of
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow
from schemas.address_secrets import mask_secrets
from schemas.events import NamespaceChanged, OrganizationChanged
from schemas.export_format import ExportedDocument, ExportedMemory, ExportEnd

UNKNOWN_UPDATE_TIME = datetime.fromtimestamp(0, UTC)
"""Placeholder: the organization's time of change is not exported, an import sets a new one."""
DOCUMENTS_PER_BATCH = 32
"""Documents in memory at once, with their texts and memories."""


async def export_settings(state: AppState) -> AsyncIterator[bytes]:
    """Yield the organization, the keys (hashed), and every namespace without its documents."""
    owned = state.catalog.organization()
    yield _json_line(OrganizationChanged(context=owned.context, buckets=owned.buckets, updated_at=UNKNOWN_UPDATE_TIME))
    # Issuers first: an import places a key below its issuer only if it knows that.
    for key in sorted(state.catalog.keys(), key=lambda row: (row.created_at, row.id)):
        yield _json_line(key)
    for row in state.catalog.namespaces():
        yield _json_line(_exported_namespace(row))
    yield _json_line(ExportEnd())


def export_namespace(state: AppState, namespace_name: str) -> AsyncIterator[bytes]:
    """Yield a namespace and its documents, oldest first; raises NotFoundError before the first line."""
    return _document_lines(state, state.require_namespace(namespace_name))


async def _document_lines(state: AppState, row: NamespaceRow) -> AsyncIterator[bytes]:
    yield _json_line(_exported_namespace(row))
    keys = await _document_keys(state, row.incarnations)
    count = 0
    for begin in range(0, len(keys), DOCUMENTS_PER_BATCH):
        batch = keys[begin : begin + DOCUMENTS_PER_BATCH]
        documents = await state.documents_by_key(batch)
        memories = await _memories_by_document(state, batch)
        for key in batch:
            if (document := documents.get(key)) is not None:  # None if deleted meanwhile
                count += 1
                yield _json_line(exported_document(document, memories[key]))
    yield _json_line(ExportEnd(documents=count))


async def _document_keys(state: AppState, incarnations: Sequence[str]) -> list[str]:
    columns = await state.documents.columns(incarnations)
    created = columns.created_at.tolist()
    return [key for _, key in sorted(zip(created, columns.keys, strict=True))]


async def _memories_by_document(state: AppState, keys: Sequence[str]) -> dict[str, list[MemoryRow]]:
    supported: dict[str, list[MemoryRow]] = {key: [] for key in keys}
    for row in sorted(await state.memories.find_by_documents(keys), key=lambda row: row.id):
        for source in row.sources:
            if source in supported:
                supported[source].append(row)
    return supported


def exported_document(row: DocumentRow, memories: Sequence[MemoryRow]) -> ExportedDocument:
    pending = row.text is not None and row.text_seq < row.content_seq
    source = row.source
    if not pending and source is not None and row.url is not None and source.text is not None:
        # An address that was read is not requested again, so its secrets are of no use.
        source = source.model_copy(update={"text": mask_secrets(source.text)})
    return ExportedDocument.of(
        row,
        source=source,
        url=None if row.url is None else mask_secrets(row.url),
        source_pending=pending,
        error=row.error if row.status == "failed" else None,
        group=row.group_metadata,
        dreaming=row.extraction_mode,
        memories_included=not row.extraction_pending,
        memories=tuple(_exported_memory(memory, row.key) for memory in memories),
    )


def _exported_memory(row: MemoryRow, document: str) -> ExportedMemory:
    statement = next(statement for statement in provenance_of(row) if statement.document == document)
    about = {name: getattr(row, name) for name in ("id", "incarnation", "text", "is_static", "is_inference")}
    return ExportedMemory.of(
        statement,
        **about,
        since=statement.first_stated_at,
        at=statement.effective_at,
        replaced_by=statement.superseded_by,
    )


def _exported_namespace(row: NamespaceRow) -> NamespaceChanged:
    return NamespaceChanged.model_validate(asdict(row))


def _json_line(value: BaseModel) -> bytes:
    return value.model_dump_json(exclude_defaults=False, exclude_none=True).encode() + b"\n"
