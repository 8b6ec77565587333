"""Response bodies of documents, chunks, memories, namespaces and keys."""

from collections.abc import Collection, Mapping
from typing import get_args

from api.policies.api_keys import Principal
from api.presenters.result_metadata import memory_metadata, memory_page, passage_metadata, speaker_metadata
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, NamespaceRow
from schemas.base import format_optional_timestamp, format_timestamp
from schemas.events import KeyChanged
from schemas.http.extensions.api_key_bodies import CallerResponse, KeyResponse, Scope
from schemas.http.field_types import DreamingStatus
from schemas.http.v5.document_bodies import ChunkResponse, ChunkSystem, DocumentResponse, DocumentSystem
from schemas.http.v5.list_bodies import ListedChunk, ListedDocument, ListedDocumentSystem
from schemas.http.v5.memory_bodies import DocumentRef, DocumentRefSystem, MemoryResponse, MemorySystem
from schemas.http.v5.namespace_bodies import ListedNamespace, NamespaceDetails, NamespaceSystem
from schemas.ids import namespace_id


def extraction_status(row: DocumentRow) -> DreamingStatus:
    """Return `dreaming` while extraction of the newest content is pending."""
    return "dreaming" if row.extraction_pending else "done"


def display_title(row: DocumentRow) -> str | None:
    """Return the title, or the filename of an upload without a title."""
    return row.title or (row.upload.filename if row.upload is not None else None)


def failure_fields(row: DocumentRow) -> dict[str, str]:
    """Return the error of a failed document; empty otherwise."""
    return {"error": row.error} if row.status == "failed" and row.error else {}


def document_response(row: DocumentRow) -> DocumentResponse:
    """Present a document without chunks and memories; its content is null until its text is extracted."""
    return DocumentResponse(
        id=row.id,
        title=display_title(row),
        type=row.type,
        summary=row.summary,
        content=row.text,
        metadata=row.metadata,
        system=DocumentSystem(
            status=row.status,
            dreaming_status=extraction_status(row),
            created_at=format_timestamp(row.created_at),
            updated_at=format_timestamp(row.updated_at),
            **failure_fields(row),
        ),
    )


def listed_document_response(row: DocumentRow, memory_count: int | None, *, content: bool) -> ListedDocument:
    """Present a document in a list; `memory_count` None: not requested."""
    system = ListedDocumentSystem(
        status=row.status,
        dreaming_status=extraction_status(row),
        created_at=format_timestamp(row.created_at),
        updated_at=format_timestamp(row.updated_at),
        **({} if memory_count is None else {"memory_count": memory_count}),
        **failure_fields(row),
    )
    return ListedDocument(
        id=row.id,
        title=display_title(row),
        type=row.type,
        summary=row.summary,
        metadata=row.metadata,
        url=row.url,
        system=system,
        **({"content": row.text} if content else {}),
    )


def document_ref(row: DocumentRow) -> DocumentRef:
    """Present the source of a result."""
    return DocumentRef(
        id=row.id,
        title=display_title(row),
        type=row.type,
        metadata=row.metadata,
        summary=row.summary,
        system=DocumentRefSystem(
            created_at=format_timestamp(row.created_at), updated_at=format_timestamp(row.updated_at)
        ),
    )


def chunk_response(row: ChunkRow, source: DocumentRow) -> ChunkResponse:
    """Present a chunk with its document's metadata, and its page unless the document uses that name itself."""
    return ChunkResponse(
        id=row.id,
        position=row.position,
        content=row.text,
        type=row.type,
        metadata=passage_metadata(source.type, source.metadata, row.page) | source.metadata,
        system=ChunkSystem.model_validate(row),
    )


def listed_chunk_response(row: ChunkRow, source: DocumentRow) -> ListedChunk:
    return ListedChunk(**dict(chunk_response(row, source)), document_id=source.id)


def memory_response(row: MemoryRow, sources: Mapping[str, DocumentRow]) -> MemoryResponse:
    """Present a memory with the metadata of its first existing source, its page there, its trust and its days."""
    source = next((sources[key] for key in row.sources if key in sources), None)
    return MemoryResponse(
        id=row.id,
        memory=row.text,
        metadata={
            **memory_metadata(row.text, is_own=row.in_profile),
            **speaker_metadata(row),
            **(memory_page(row, source) | source.metadata if source else {}),
        },
        is_static=row.is_static,
        is_inference=row.is_inference,
        is_latest=row.is_active,
        is_forgotten=row.forgotten_at is not None,
        version=row.version,
        system=MemorySystem.model_validate(row),
    )


def listed_namespace_response(row: NamespaceRow, documents: int, memories: int) -> ListedNamespace:
    return ListedNamespace(
        id=namespace_id(row.name, row.epoch),
        namespace=row.name,
        document_count=documents,
        memory_count=memories,
        description=row.description,
        system=NamespaceSystem.model_validate(row),
    )


def namespace_response(row: NamespaceRow) -> NamespaceDetails:
    system = NamespaceSystem.model_validate(row)
    return NamespaceDetails(namespace=row.name, supporting_context=row.supporting_context, system=system)


def _in_order(scopes: Collection[str]) -> list[Scope]:
    return [scope for scope in get_args(Scope) if scope in scopes]


def key_response(row: KeyChanged, scopes: Collection[str]) -> KeyResponse:
    """Present a key without its secret."""
    return KeyResponse.model_validate(row.model_copy(update={"scopes": tuple(_in_order(scopes))}))


def caller_response(principal: Principal, row: KeyChanged | None) -> CallerResponse:
    """Present the caller's key; `row` None: the operator's key, which is a setting."""
    return CallerResponse(
        id=principal.id,
        name=row.name if row else principal.id,
        role=principal.role,
        scopes=_in_order(principal.granted),
        namespaces=None if principal.namespaces is None else list(principal.namespaces),
        operator=principal.is_operator,
        expires_at=None if row is None else format_optional_timestamp(row.expires_at),
    )
