"""Documents in the shapes of v3."""

from collections.abc import Sequence

from api.dependencies.app_state import AppState
from api.presenters.resource_presenter import display_title, extraction_status
from api.routes.v3_v4.document_ids import custom_id_of, encode_document_id
from api.routes.v3_v4.metadata_filters import FILEPATH_FIELD
from pipeline.rows import ChunkRow, DocumentRow
from schemas.base import JsonObject, format_timestamp

TYPES = frozenset(
    {"text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "audio"}
    | {"notion_doc", "webpage", "onedrive", "github_markdown", "granola"}
)
"""Types of documents that v3 names; a document of any other is text there."""


def document(state: AppState, row: DocumentRow) -> JsonObject:
    return {
        **listed_document(state, row),
        "content": row.text,
        "ogImage": None,
        "raw": None,
        "source": None,
        "taskType": row.task_type,
        "dreamingStatus": extraction_status(row),
    }


def listed_document(state: AppState, row: DocumentRow) -> JsonObject:
    """Present a document without its content."""
    return {
        **processing_document(state, row),
        "connectionId": None,
        "summary": row.summary or display_title(row),  # clients of v3 list documents by it
        "url": row.url,
        "filepath": filepath_of(row),
    }


def processing_document(state: AppState, row: DocumentRow) -> JsonObject:
    return {
        "id": encode_document_id(row.key),
        "customId": custom_id_of(row),
        "containerTags": container_tags_of(state, row),
        "title": display_title(row),
        "type": type_of(row),
        "status": row.status,
        "metadata": row.metadata,
        "createdAt": format_timestamp(row.created_at),
        "updatedAt": format_timestamp(row.updated_at),
    }


def document_chunk(chunk: ChunkRow, row: DocumentRow) -> JsonObject:
    """Present a passage with its document's metadata."""
    return {
        "id": chunk.id,
        "position": chunk.position,
        "content": chunk.text,
        "type": chunk.type,
        "metadata": row.metadata,
        "createdAt": format_timestamp(chunk.created_at),
    }


def type_of(row: DocumentRow) -> str:
    """Return the document's type as v3 names it."""
    return row.type if row.type in TYPES else "text"


def filepath_of(row: DocumentRow) -> str | None:
    """Return the document's file path, which is kept in its metadata."""
    path = row.metadata.get(FILEPATH_FIELD)
    return path if isinstance(path, str) else None


def container_tags_of(state: AppState, row: DocumentRow) -> Sequence[str]:
    """Return the document's namespace; nothing while its deletion goes on."""
    namespace = state.catalog.namespace_of(row.incarnation)
    return [] if namespace is None else [namespace.name]
