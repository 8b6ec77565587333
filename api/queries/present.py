"""Rows as the answers of the interface show them."""

from collections.abc import Mapping

from api.keys import Principal
from pipeline.rows import ChunkRow, DocumentRow, KeyRow, MemoryRow, NamespaceRow
from schemas.base import timestamp
from schemas.http.documents import ChunkAnswer, ChunkSystem, DocumentAnswer, DocumentSystem
from schemas.http.keys import KeyAnswer, WhoAmI
from schemas.http.listing import ListedChunk, ListedDocument, ListedDocumentSystem
from schemas.http.memories import DocumentRef, DocumentRefSystem, MemoryAnswer, MemorySystem
from schemas.http.namespaces import ListedNamespace, NamespaceDetails, NamespaceSystem
from schemas.http.parts import DreamingStatus
from schemas.ids import namespace_id


def dreaming_status(row: DocumentRow) -> DreamingStatus:
    """`dreaming` while memories of the newest content are still to be formed."""
    return "dreaming" if row.dreaming else "done"


def title(row: DocumentRow) -> str | None:
    """The title found in the text; of a file that has none (yet), its name."""
    return row.title or (row.upload.filename if row.upload is not None else None)


def failure(row: DocumentRow) -> dict[str, str]:
    """Why a document has failed, for people; nothing where it has not."""
    return {"error": row.error} if row.status == "failed" and row.error else {}


def document(row: DocumentRow) -> DocumentAnswer:
    """A document without chunks and memories; its content is null before there is a text."""
    return DocumentAnswer(
        id=row.id,
        title=title(row),
        type=row.type,
        summary=row.summary,
        content=row.text,
        metadata=row.metadata,
        system=DocumentSystem(
            status=row.status,
            dreaming_status=dreaming_status(row),
            created_at=timestamp(row.created_at),
            updated_at=timestamp(row.updated_at),
            **failure(row),
        ),
    )


def listed_document(row: DocumentRow, memory_count: int | None, *, content: bool) -> ListedDocument:
    """A document of a list; `memory_count` None: declined."""
    system = ListedDocumentSystem(
        status=row.status,
        dreaming_status=dreaming_status(row),
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
        **({} if memory_count is None else {"memory_count": memory_count}),
        **failure(row),
    )
    return ListedDocument(
        id=row.id,
        title=title(row),
        type=row.type,
        summary=row.summary,
        metadata=row.metadata,
        url=row.url,
        system=system,
        **({"content": row.text} if content else {}),
    )


def document_ref(row: DocumentRow) -> DocumentRef:
    """The source of a result."""
    return DocumentRef(
        id=row.id,
        title=title(row),
        type=row.type,
        metadata=row.metadata,
        summary=row.summary,
        system=DocumentRefSystem(created_at=timestamp(row.created_at), updated_at=timestamp(row.updated_at)),
    )


def chunk(row: ChunkRow, source: DocumentRow) -> ChunkAnswer:
    """A chunk with its document's metadata."""
    return ChunkAnswer(
        id=row.id,
        position=row.position,
        content=row.text,
        type=row.type,
        metadata=source.metadata,
        system=ChunkSystem(created_at=timestamp(row.created_at)),
    )


def listed_chunk(row: ChunkRow, source: DocumentRow) -> ListedChunk:
    """A chunk of a list."""
    return ListedChunk(**dict(chunk(row, source)), document_id=source.id)


def memory(row: MemoryRow, sources: Mapping[str, DocumentRow]) -> MemoryAnswer:
    """A memory with the metadata of its first source that is still there."""
    source = next((sources[key] for key in row.sources if key in sources), None)
    return MemoryAnswer(
        id=row.id,
        memory=row.text,
        metadata=source.metadata if source else {},
        is_static=row.is_static,
        is_inference=row.is_inference,
        is_latest=row.recallable,
        is_forgotten=row.forgotten_at is not None,
        version=row.version,
        system=MemorySystem(created_at=timestamp(row.created_at), updated_at=timestamp(row.updated_at)),
    )


def listed_namespace(row: NamespaceRow, documents: int, memories: int) -> ListedNamespace:
    """A namespace of a list."""
    return ListedNamespace(
        id=namespace_id(row.name, row.generation),
        namespace=row.name,
        document_count=documents,
        memory_count=memories,
        description=row.description,
        system=_namespace_system(row),
    )


def namespace(row: NamespaceRow) -> NamespaceDetails:
    """A namespace's settings."""
    return NamespaceDetails(
        namespace=row.name, supporting_context=row.supporting_context, system=_namespace_system(row)
    )


def _namespace_system(row: NamespaceRow) -> NamespaceSystem:
    return NamespaceSystem(created_at=timestamp(row.created_at), updated_at=timestamp(row.updated_at))


def key(row: KeyRow) -> KeyAnswer:
    """A key without its secret."""
    return KeyAnswer(
        id=row.id,
        name=row.name,
        role=row.role,
        namespaces=None if row.namespaces is None else list(row.namespaces),
        created_at=timestamp(row.created_at),
        expires_at=None if row.expires_at is None else timestamp(row.expires_at),
        revoked_at=None if row.revoked_at is None else timestamp(row.revoked_at),
        previous_until=None if row.previous_until is None else timestamp(row.previous_until),
        rate_limit=row.rate_limit,
        monthly_documents=row.monthly_documents,
        monthly_searches=row.monthly_searches,
    )


def who(principal: Principal, row: KeyRow | None) -> WhoAmI:
    """Whom a request is from; `row` None: the operator's own key, which is a setting."""
    return WhoAmI(
        id=principal.id,
        name=row.name if row else principal.id,
        role=principal.role,
        namespaces=None if principal.namespaces is None else list(principal.namespaces),
        operator=principal.is_operator,
        expires_at=None if row is None or row.expires_at is None else timestamp(row.expires_at),
    )
