"""Documents: add, change, read and delete."""

from collections.abc import Sequence

from fastapi import APIRouter, Request

from api import uploads
from api.auth import Access, Reader, Writer
from api.contract import FormRoute, IngestRoute, failures
from api.options import DocumentParts, DocumentPath
from api.problems import BadRequestError, NotFoundError
from api.queries import present, submit
from api.queries.submit import Draft
from schemas.events import Dreaming, TaskType
from schemas.http.documents import (
    Accepted,
    BatchAnswer,
    BatchBody,
    BatchItem,
    BatchResult,
    DeleteDocumentsAnswer,
    DeleteDocumentsBody,
    DeleteProblem,
    DocumentAnswer,
    DocumentBody,
    DocumentPatch,
    content_problem,
    form_schema,
)

router = APIRouter(route_class=IngestRoute, prefix="/ns/{namespace}/document")

_INGEST = failures(400, 401, 402, 403, 409, 500)
_CHANGE = failures(400, 401, 402, 403, 404, 409, 500)


def _multipart(*, file_required: bool) -> dict[str, object]:
    content = {"multipart/form-data": {"schema": form_schema(file_required=file_required)}}
    return {"requestBody": {"required": True, "content": content}}


def _accepted(access: Access, outcome: submit.Outcome) -> Accepted:
    access.count(documents=int(outcome.taken))
    if outcome.problem is not None:
        raise BadRequestError("The metadata can't be accepted", outcome.problem)
    return Accepted(id=outcome.id, status=outcome.status)


def _draft(item: BatchItem, task_type: TaskType | None, dreaming: Dreaming | None) -> Draft:
    return Draft(
        id=item.id,
        content=item.content,
        supporting_context=item.supporting_context,
        metadata=item.metadata,
        group=item.group,
        date=item.date,
        task_type=task_type,
        dreaming=dreaming,
    )


@router.post(
    "",
    tags=["Ingest"],
    operation_id="postNsByNamespaceDocument",
    responses=_INGEST,
)
async def add(access: Writer, body: DocumentBody) -> Accepted:
    """Add a document, or append to the one that has the id."""
    if problem := content_problem(body.content):
        raise BadRequestError("The content can't be accepted", problem)
    access.require("documents")
    outcomes = await submit.add(access.state, access.namespace, [_draft(body, body.task_type, body.dreaming)])
    return _accepted(access, outcomes[0])


@router.post(
    "/batch",
    tags=["Ingest"],
    operation_id="postNsByNamespaceDocumentBatch",
    responses=failures(400, 401, 402, 403, 500),
    response_model_exclude_unset=True,
)
async def add_batch(access: Writer, body: BatchBody) -> BatchAnswer:
    """Add up to 600 documents with one write; one that can't be accepted does not keep the others back."""
    problems = [content_problem(item.content) for item in body.documents]
    good = [item for item, problem in zip(body.documents, problems, strict=True) if problem is None]
    drafts = [_draft(item, body.task_type, body.dreaming) for item in good]
    access.require("documents", len(drafts))
    outcomes = await submit.add(access.state, access.namespace, drafts) if drafts else []
    access.count(documents=sum(one.taken for one in outcomes))
    results = [BatchResult(id=one.id, status=one.status) for one in outcomes if one.problem is None]
    failed = [
        _refused(item.id or "", "content", problem)
        for item, problem in zip(body.documents, problems, strict=True)
        if problem is not None
    ]
    failed += [_refused(one.id, "metadata", one.problem) for one in outcomes if one.problem is not None]
    return BatchAnswer(results=results + failed, count=len(results), failed=len(failed))


def _refused(public: str, what: str, problem: str) -> BatchResult:
    return BatchResult(id=public, status="error", error=f"The {what} can't be accepted", details=problem)


@router.post(
    "/file",
    tags=["Ingest"],
    operation_id="postNsByNamespaceDocumentFile",
    responses=_INGEST,
    openapi_extra=_multipart(file_required=True),
)
async def upload_file(request: Request, access: Writer) -> Accepted:
    """Add a file. Its id comes from its content."""
    access.require("documents")
    draft = await uploads.draft(request, access.state, file_required=True)
    return _accepted(access, (await submit.add(access.state, access.namespace, [draft]))[0])


@router.post(
    "/file/{id:path}",
    tags=["Ingest"],
    operation_id="postNsByNamespaceDocumentFileById",
    responses=_CHANGE,
    openapi_extra=_multipart(file_required=True),
)
async def replace_with_file(request: Request, access: Writer, id: DocumentPath) -> Accepted:
    """Replace a document and everything said about it."""
    await submit.require(access.state, access.namespace, id)
    access.require("documents")
    draft = await uploads.draft(request, access.state, file_required=True)
    return _accepted(access, await submit.replace_with(access.state, access.namespace, id, draft))


async def update_file(request: Request, access: Writer, id: DocumentPath) -> Accepted:
    """Change what is given; metadata merges key by key."""
    await submit.require(access.state, access.namespace, id)
    draft = await uploads.draft(request, access.state, file_required=False)
    if draft.upload is not None:
        access.require("documents")
    return _accepted(access, await submit.patch(access.state, access.namespace, id, draft))


router.add_api_route(
    "/file/{id:path}",
    update_file,
    methods=["PATCH"],
    tags=["Ingest"],
    operation_id="patchNsByNamespaceDocumentFileById",
    responses=_CHANGE,
    openapi_extra=_multipart(file_required=False),
    # The id of a document may begin with `file/`: a change of it as JSON has the same path.
    route_class_override=FormRoute,
)


@router.get(
    "/{id:path}",
    tags=["Content Management"],
    operation_id="getNsByNamespaceDocumentById",
    responses=failures(400, 401, 403, 404, 500),
    response_model_exclude_unset=True,
)
async def get(access: Reader, id: DocumentPath, include: DocumentParts) -> DocumentAnswer:
    """A document as of the newest write."""
    state = access.state
    namespace = state.catalog.namespace(access.namespace)
    rows = await state.documents.find(namespace.spaces, [id]) if namespace else {}
    row = rows.get(id)
    if row is None:
        raise NotFoundError("Document not found", f"There is no document {id[:100]!r} in {access.namespace}.")
    answer = present.document(row)
    if "chunks" in include:
        chunks = (await state.chunks.get([row.key])).get(row.key, [])
        answer.chunks = [
            present.chunk(chunk, row) for chunk in sorted(chunks, key=lambda chunk: chunk.position)
        ]
    if "memories" in include:
        memories = await state.memories.of_documents([row.key])
        shown = [memory for memory in memories if memory.recallable]
        answer.memories = [present.memory(memory, {row.key: row}) for memory in shown]
    return answer


@router.patch(
    "/{id:path}",
    tags=["Ingest"],
    operation_id="patchNsByNamespaceDocumentById",
    responses=_CHANGE,
)
async def update(access: Writer, id: DocumentPath, body: DocumentPatch) -> Accepted:
    """Replace the content where given; metadata merges key by key."""
    if body.content is not None and (problem := content_problem(body.content)):
        raise BadRequestError("The content can't be accepted", problem)
    if body.content is not None:
        access.require("documents")
    draft = Draft(**body.model_dump(exclude_unset=True))
    return _accepted(access, await submit.patch(access.state, access.namespace, id, draft))


@router.delete(
    "",
    tags=["Content Management"],
    operation_id="deleteNsByNamespaceDocument",
    responses=failures(400, 401, 403, 500),
)
async def delete(access: Writer, body: DeleteDocumentsBody) -> DeleteDocumentsAnswer:
    """Delete documents with their chunks, and the memories that nothing else supports."""
    count, unknown = await submit.delete(access.state, access.namespace, body.ids)
    access.note(count=count, ids=", ".join(body.ids))
    return DeleteDocumentsAnswer(count=count, errors=_unknown(access.namespace, unknown))


def _unknown(namespace: str, ids: Sequence[str]) -> list[DeleteProblem]:
    return [DeleteProblem(id=one, error=f"There is no such document in {namespace}") for one in ids]
