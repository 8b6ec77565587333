"""Response bodies of documents, chunks, memories, namespaces and keys."""

from collections.abc import Collection, Mapping
from typing import get_args

from api.policies.api_keys import Principal
from api.presenters.result_metadata import memory_metadata, memory_page, passage_metadata, speaker_metadata
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, NamespaceRow
from schemas.base import without_none
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


def _state(row: DocumentRow) -> dict[str, str]:
    return {"dreaming_status": extraction_status(row), **failure_fields(row)}


def document_response(row: DocumentRow) -> DocumentResponse:
    """Present a document without chunks and memories; its content is null until its text is extracted."""
    system = DocumentSystem.of(row, **_state(row))
    return DocumentResponse.of(row, title=display_title(row), content=row.text, system=system)


def listed_document_response(row: DocumentRow, memory_count: int | None, *, content: bool) -> ListedDocument:
    """Present a document in a list; `memory_count` None: not requested."""
    system = ListedDocumentSystem.of(row, **without_none(memory_count=memory_count), **_state(row))
    shown = {"content": row.text} if content else {}
    return ListedDocument.of(row, title=display_title(row), system=system, **shown)


def document_ref(row: DocumentRow) -> DocumentRef:
    """Present the source of a result."""
    return DocumentRef.of(row, title=display_title(row), system=DocumentRefSystem.of(row))


def chunk_response(row: ChunkRow, source: DocumentRow) -> ChunkResponse:
    """Present a chunk with its document's metadata, and its page unless the document uses that name itself."""
    metadata = passage_metadata(source.type, source.metadata, row.page) | source.metadata
    return ChunkResponse.of(row, content=row.text, metadata=metadata, system=ChunkSystem.of(row))


def listed_chunk_response(row: ChunkRow, source: DocumentRow) -> ListedChunk:
    return ListedChunk(**dict(chunk_response(row, source)), document_id=source.id)


def memory_response(row: MemoryRow, sources: Mapping[str, DocumentRow]) -> MemoryResponse:
    """Present a memory with the metadata of its first existing source, its page there, its trust and its days."""
    source = next((sources[key] for key in row.sources if key in sources), None)
    metadata = {
        **memory_metadata(row.text, is_own=row.in_profile),
        **speaker_metadata(row),
        **(memory_page(row, source) | source.metadata if source else {}),
    }
    return MemoryResponse.of(
        row,
        memory=row.text,
        metadata=metadata,
        is_latest=row.is_active,
        is_forgotten=row.forgotten_at is not None,
        system=MemorySystem.of(row),
    )


def listed_namespace_response(row: NamespaceRow, documents: int, memories: int) -> ListedNamespace:
    id_, system = namespace_id(row.name, row.epoch), NamespaceSystem.of(row)
    return ListedNamespace.of(
        row, id=id_, namespace=row.name, document_count=documents, memory_count=memories, system=system
    )


def namespace_response(row: NamespaceRow) -> NamespaceDetails:
    return NamespaceDetails.of(row, namespace=row.name, system=NamespaceSystem.of(row))


def _in_order(scopes: Collection[str]) -> list[Scope]:
    return [scope for scope in get_args(Scope) if scope in scopes]


def key_response(row: KeyChanged, scopes: Collection[str]) -> KeyResponse:
    """Present a key without its secret."""
    return KeyResponse.model_validate(row.model_copy(update={"scopes": tuple(_in_order(scopes))}))


def caller_response(principal: Principal, row: KeyChanged | None) -> CallerResponse:
    """Present the caller's key; `row` None: the operator's key, which is a setting."""
    return CallerResponse.of(
        principal,
        name=row.name if row else principal.id,
        scopes=_in_order(principal.granted),
        operator=principal.is_operator,
        expires_at=row and row.expires_at,
    )
