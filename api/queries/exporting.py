"""Everything of a deployment as lines, read a few documents at a time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from pydantic import BaseModel

from api.queries.namespaces import existing
from api.state import State
from pipeline.memory.statements import statements_of
from pipeline.rows import DocumentRow, KeyRow, MemoryRow, NamespaceRow
from schemas.archive import End, ExportedDocument, ExportedMemory
from schemas.events import KeyChanged, NamespaceChanged, OrganizationChanged

NEVER = datetime.fromtimestamp(0, UTC)
"""Nobody is told when the organization was changed last; an import sets it anew."""
_FACT = ("id", "space", "text", "is_static", "is_inference")
_STATED = tuple(name for name in ExportedMemory.model_fields if name not in _FACT)
TOGETHER = 32
"""Documents in memory at once, with their texts and memories."""


async def settings(state: State) -> AsyncIterator[bytes]:
    """The organization, the keys (hashed), and every namespace without its documents."""
    owned = state.catalog.organization()
    yield _line(OrganizationChanged(context=owned.context, buckets=owned.buckets, updated_at=NEVER))
    for key in state.catalog.keys():  # noqa: SIM118 - a catalog is no dictionary
        yield _line(_key(key))
    for row in sorted(state.catalog.namespaces(), key=lambda row: row.name):
        yield _line(_namespace(row))
    yield _line(End())


def namespace(state: State, name: str) -> AsyncIterator[bytes]:
    """A namespace and its documents, oldest first; NotFoundError at once."""
    return _documents(state, existing(state, name))


async def _documents(state: State, row: NamespaceRow) -> AsyncIterator[bytes]:
    yield _line(_namespace(row))
    keys = await _keys(state, row.spaces)
    count = 0
    for begin in range(0, len(keys), TOGETHER):
        some = keys[begin : begin + TOGETHER]
        found = await state.documents.get(some)
        memories = await _memories(state, some)
        for key in some:
            for document in found.get(key, []):  # deleted meanwhile: nothing
                count += 1
                yield _line(_exported(document, memories[key]))
    yield _line(End(documents=count))


async def _keys(state: State, spaces: Sequence[str]) -> list[str]:
    """Of all documents, in the order in which they came."""
    columns = await state.documents.columns(spaces)
    created = columns.created_at.tolist()
    return [key for _, key in sorted(zip(created, columns.keys, strict=True))]


async def _memories(state: State, keys: Sequence[str]) -> dict[str, list[MemoryRow]]:
    supported: dict[str, list[MemoryRow]] = {key: [] for key in keys}
    for row in sorted(await state.memories.of_documents(keys), key=lambda row: row.id):
        for source in row.sources:
            if source in supported:
                supported[source].append(row)
    return supported


def _exported(row: DocumentRow, memories: Sequence[MemoryRow]) -> ExportedDocument:
    return ExportedDocument(
        space=row.space,
        key=row.key,
        id=row.id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        text=row.text,
        stale=row.text is not None and row.text_seq < row.content_seq,
        error=row.error if row.status == "failed" else None,
        title=row.title,
        type=row.type,
        summary=row.summary,
        url=row.url,
        source=row.source,
        upload=row.upload,
        metadata=row.metadata,
        group=row.group,
        supporting_context=row.supporting_context,
        date=row.date,
        task_type=row.task_type,
        dreaming=row.dreaming_mode,
        formed=not row.dreaming,
        memories=tuple(_memory(one, row.key) for one in memories),
    )


def _memory(row: MemoryRow, document: str) -> ExportedMemory:
    stated = next(one for one in statements_of(row) if one.document == document)
    said = {name: getattr(stated, name) for name in _STATED}
    return ExportedMemory(**{name: getattr(row, name) for name in _FACT}, **said)


def _namespace(row: NamespaceRow) -> NamespaceChanged:
    return NamespaceChanged.model_validate(asdict(row))


def _key(row: KeyRow) -> KeyChanged:
    return KeyChanged.model_validate(asdict(row))


def _line(value: BaseModel) -> bytes:
    return value.model_dump_json(exclude_defaults=False, exclude_none=True).encode() + b"\n"
