"""Document routes: add, change, read and delete."""

from collections.abc import Sequence
from functools import partial

from fastapi import APIRouter, Request

from api.commands import document_submission
from api.commands.document_submission import DocumentDraft
from api.dependencies.authentication import ForgetAccess, ReadAccess, WriteAccess
from api.dependencies.path_and_query_parameters import DocumentIncludes, DocumentPath
from api.presenters import resource_presenter
from api.routes.contract_route import IngestRoute, MultipartRoute, error_responses
from api.routes.v5 import multipart_upload
from pipeline.memory.versioning.provenance import provenance_of
from pipeline.rows import MemoryRow
from schemas.http.v5 import document_bodies as bodies

router = APIRouter(route_class=IngestRoute, prefix="/ns/{namespace}/document")

_INGEST_ERRORS = error_responses(400, 401, 402, 403, 409, 500)
_CHANGE_ERRORS = error_responses(400, 401, 402, 403, 404, 409, 500)


def _multipart_openapi(*, file_required: bool) -> dict[str, object]:
    content = {"multipart/form-data": {"schema": bodies.multipart_schema(file_required=file_required)}}
    return {"requestBody": {"required": True, "content": content}}


def _accepted_response(outcome: document_submission.SubmissionOutcome) -> bodies.DocumentAccepted:
    return bodies.DocumentAccepted(id=outcome.id, status=outcome.status)


@router.post("", tags=["Ingest"], responses=_INGEST_ERRORS)
async def add(access: WriteAccess, body: bodies.DocumentBody) -> bodies.DocumentAccepted:
    """Add a document, or append to an existing document with the same id."""
    return _accepted_response(await document_submission.add_document(access, DocumentDraft(**dict(body))))


@router.post(
    "/batch", tags=["Ingest"], responses=error_responses(400, 401, 402, 403, 500), response_model_exclude_unset=True
)
async def add_batch(access: WriteAccess, body: bodies.BatchBody) -> bodies.BatchResponse:
    """Add up to 600 documents with one write; a rejected document does not affect the others."""
    drafts = [DocumentDraft(**dict(item), task_type=body.task_type, dreaming=body.dreaming) for item in body.documents]
    outcomes = await document_submission.add_documents(access, drafts)
    results = [
        bodies.BatchResult(id=outcome.id, status=outcome.status) for outcome in outcomes if outcome.error is None
    ]
    failed = [
        bodies.BatchResult(id=outcome.id, status="error", error=outcome.error, details=outcome.details)
        for outcome in sorted(outcomes, key=lambda outcome: outcome.error or "")
        if outcome.error is not None
    ]
    return bodies.BatchResponse(results=results + failed, count=len(results), failed=len(failed))


@router.post("/file", tags=["Ingest"], responses=_INGEST_ERRORS, openapi_extra=_multipart_openapi(file_required=True))
async def upload_file(request: Request, access: WriteAccess) -> bodies.DocumentAccepted:
    """Add a file; its id is derived from its content."""
    async with multipart_upload.document_draft(request, access.state, file_required=True) as draft:
        return _accepted_response(await document_submission.add_document(access, draft))


@router.post(
    "/file/{id:path}", tags=["Ingest"], responses=_CHANGE_ERRORS, openapi_extra=_multipart_openapi(file_required=True)
)
async def replace_with_file(request: Request, access: WriteAccess, id: DocumentPath) -> bodies.DocumentAccepted:
    """Replace a document, its metadata and all other fields."""
    await access.state.require_document(access.namespace, id)
    async with multipart_upload.document_draft(request, access.state, file_required=True) as draft:
        return _accepted_response(await document_submission.replace_document(access, id, draft))


async def update_file(request: Request, access: WriteAccess, id: DocumentPath) -> bodies.DocumentAccepted:
    """Change the given fields; metadata merges key by key."""
    await access.state.require_document(access.namespace, id)
    async with multipart_upload.document_draft(request, access.state, file_required=False) as draft:
        return _accepted_response(await document_submission.patch_document(access, id, draft))


router.add_api_route(
    "/file/{id:path}",
    update_file,
    methods=["PATCH"],
    tags=["Ingest"],
    operation_id="patchNsByNamespaceDocumentFileById",
    responses=_CHANGE_ERRORS,
    openapi_extra=_multipart_openapi(file_required=False),
    # Document ids may start with `file/`: a JSON patch of such a document has the same path.
    route_class_override=MultipartRoute,
)


@router.get(
    "/{id:path}",
    tags=["Content Management"],
    responses=error_responses(400, 401, 403, 404, 500),
    response_model_exclude_unset=True,
)
async def get(access: ReadAccess, id: DocumentPath, include: DocumentIncludes) -> bodies.DocumentResponse:
    """Return a document as of the newest write."""
    state = access.state
    row = await state.require_document(access.namespace, id)
    answer = resource_presenter.document_response(row)
    if "chunks" in include:
        chunks = (await state.chunks.get([row.key])).get(row.key, [])
        answer.chunks = [
            resource_presenter.chunk_response(chunk, row) for chunk in sorted(chunks, key=lambda chunk: chunk.position)
        ]
    if "memories" in include:
        memories = await state.memories.find_by_documents([row.key])
        shown = sorted((memory for memory in memories if memory.is_active), key=partial(_place, row.key))
        answer.memories = [resource_presenter.memory_response(memory, {row.key: row}) for memory in shown]
    return answer


def _place(document: str, memory: MemoryRow) -> tuple[int, str]:
    """Return where a document states a memory: tables have no order of their own."""
    starts = (entry.start for entry in provenance_of(memory) if entry.document == document)
    return next((start for start in starts if start is not None), 0), memory.id


@router.patch("/{id:path}", tags=["Ingest"], responses=_CHANGE_ERRORS)
async def update(access: WriteAccess, id: DocumentPath, body: bodies.DocumentPatch) -> bodies.DocumentAccepted:
    """Replace the content if given; metadata merges key by key."""
    draft = DocumentDraft(**body.model_dump(exclude_unset=True))
    return _accepted_response(await document_submission.patch_document(access, id, draft))


@router.delete("", tags=["Content Management"])
async def delete(access: ForgetAccess, body: bodies.DeleteDocumentsBody) -> bodies.DeleteDocumentsResponse:
    """Delete documents with their chunks, and memories that no other document supports."""
    count, unknown = await document_submission.delete_documents(access.state, access.namespace, body.ids)
    access.add_audit_fields(count=count, ids=", ".join(body.ids))
    return bodies.DeleteDocumentsResponse(count=count, errors=_unknown_documents(access.namespace, unknown))


def _unknown_documents(namespace: str, ids: Sequence[str]) -> list[bodies.DeleteDocumentError]:
    return [
        bodies.DeleteDocumentError(id=document_id, error=f"There is no such document in {namespace}")
        for document_id in ids
    ]
