"""Documents of v3 and conversations of v4."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request, Response
from starlette.datastructures import FormData

from api.commands import document_submission
from api.commands.document_submission import DocumentDraft
from api.dependencies.authentication import AuthenticatedCaller, ForgetKey, NamespaceAccess, ReadKey, WriteKey
from api.errors.http_errors import BadRequestError, NotFoundError, NotImplementedHereError
from api.routes.contract_route import LenientRoute
from api.routes.v3_v4 import document_presenter
from api.routes.v3_v4.container_tags import open_for_change, readable_incarnations
from api.routes.v3_v4.document_ids import encode_document_id, find_document
from api.routes.v3_v4.metadata_filters import FILEPATH_FIELD, parse_filters
from api.routes.v5 import multipart_upload
from pipeline.rows import DocumentRow
from schemas.base import JsonObject, Metadata
from schemas.http.field_types import REJECT_NUL
from schemas.http.pagination import paginate
from schemas.http.v3_v4 import document_bodies as bodies
from schemas.http.v5.document_bodies import validate_content
from schemas.strict_json import parse_json

router = APIRouter(route_class=LenientRoute, include_in_schema=False)

DocumentPath = Annotated[str, Path(min_length=1, max_length=255), REJECT_NUL]
_DELETION_PAGE = 1_000
_MAX_PROCESSING_SHOWN = 1_000
_FORM_FIELDS = {
    "file": "file",
    "metadata": "metadata",
    "filterByMetadata": "group",
    "entityContext": "supportingContext",
    "documentDate": "date",
    "taskType": "taskType",
    "dreaming": "dreaming",
    "fileType": "fileType",
    "mimeType": "mimeType",
}
"""Form fields of v3 and their names in v5."""


@router.post("/v3/documents")
async def add(caller: WriteKey, body: bodies.AddDocumentBody) -> JsonObject:
    """Add a document, or append to the document with the same custom id."""
    access = open_for_change(caller, body.tags)
    return await _add(access, _to_draft(body, body.content))


@router.post("/v3/documents/batch")
async def add_batch(caller: WriteKey, body: bodies.AddDocumentsBody) -> JsonObject:
    """Add documents, those of a container with one write; a refused document does not affect the others."""
    results: dict[int, JsonObject] = {}
    accepted: dict[str, dict[int, DocumentDraft]] = {}
    for position, (tags, draft) in enumerate(_batch_drafts(body)):
        if problem := validate_content(draft.content or ""):
            results[position] = _refused("The content can't be accepted", problem)
        else:
            access = open_for_change(caller, tags)
            accepted.setdefault(access.namespace, {})[position] = draft
    for namespace, drafts in accepted.items():
        results |= await _add_together(open_for_change(caller, [namespace]), drafts)
    ordered = [results[position] for position in sorted(results)]
    failed = sum(result["status"] == "error" for result in ordered)
    return {"results": ordered, "failed": failed, "success": len(ordered) - failed}


@router.post("/v3/documents/file")
async def upload_file(request: Request, caller: WriteKey) -> JsonObject:
    """Add a file."""
    async with multipart_upload.read_form(request) as form:
        fields = multipart_upload.validate_fields(bodies.FileFields, _file_fields(form))
        access = open_for_change(caller, fields.tags)
        draft = await multipart_upload.to_document_draft(_as_v5_form(form), caller.state, file_required=True)
        metadata = _with_filepath(draft.metadata, fields.filepath)
        return await _add(access, replace(draft, id=fields.custom_id, metadata=metadata))


@router.post("/v3/documents/list")
async def list_documents(caller: ReadKey, body: bodies.ListDocumentsBody | None = None) -> JsonObject:
    """List a page of documents of the named containers, or of all that the key may read."""
    state, body = caller.state, body or bodies.ListDocumentsBody()
    incarnations = readable_incarnations(caller, body.tags)
    if not incarnations:
        return {"memories": [], "pagination": paginate(body.page, body.limit, 0)}
    page = await state.documents.page(
        incarnations,
        filter=parse_filters(body.filters, body.filepath),
        sort=body.sort,
        descending=body.order == "desc",
        offset=(body.page - 1) * body.limit,
        limit=body.limit,
        with_text=body.include_content,
    )
    shown = [
        document_presenter.listed_document(state, row)
        | ({"content": row.text} if body.include_content and row.text is not None else {})
        for row in page.rows
    ]
    return {"memories": shown, "pagination": paginate(body.page, body.limit, page.total)}


@router.get("/v3/documents/processing")
async def list_processing(
    caller: ReadKey,
    containerTags: str = "",  # noqa: N803 - the interface's name
    view: Literal["active", "pending", "all"] = "active",
) -> JsonObject:
    """List the documents that are still processed, of the containers named with commas or of all, newest first."""
    if view == "all":
        raise NotImplementedHereError("Failed documents are not listed here", "Leave view out, and see each status.")
    incarnations = readable_incarnations(caller, _listed_tags(containerTags))
    rows = await caller.state.documents.unfinished(incarnations, _MAX_PROCESSING_SHOWN)
    shown = [document_presenter.processing_document(caller.state, row) for row in rows]
    return {"documents": shown, "totalCount": len(shown)}


@router.delete("/v3/documents/bulk")
async def delete_many(caller: ForgetKey, body: bodies.DeleteDocumentsBody) -> JsonObject:
    """Delete documents by id, or all documents of the named containers."""
    if body.ids:
        count, errors = await _delete_ids(caller, body.ids)
        caller.add_audit_fields(count=count, ids=", ".join(body.ids))
        return {"success": not errors, "deletedCount": count, **({"errors": errors} if errors else {})}
    if not body.tags:
        raise BadRequestError("Nothing is named", "Send ids or containerTags.")
    caller.add_audit_fields(namespaces=", ".join(body.tags))
    count = sum([await _delete_contents(caller, tag, body.filepath) for tag in body.tags])
    caller.add_audit_fields(count=count)
    return {"success": True, "deletedCount": count, "containerTags": body.tags}


@router.get("/v3/documents/{id}/chunks")
async def list_chunks(caller: ReadKey, id: DocumentPath) -> JsonObject:
    """List the passages of a document, in order."""
    row = (await find_document(caller, id)).row
    chunks = (await caller.state.chunks.get([row.key])).get(row.key, [])
    shown = [
        document_presenter.document_chunk(chunk, row) for chunk in sorted(chunks, key=lambda chunk: chunk.position)
    ]
    return {"documentId": encode_document_id(row.key), "chunks": shown, "total": len(shown)}


@router.get("/v3/documents/{id}/file-url")
async def get_file_url(caller: ReadKey, id: DocumentPath) -> None:
    """Refuse: this service publishes no addresses of stored files."""
    await find_document(caller, id)
    raise NotImplementedHereError(
        "Files have no public address here", "The document's text is in GET /v3/documents/{id}."
    )


@router.get("/v3/documents/{id}")
async def get(caller: ReadKey, id: DocumentPath) -> JsonObject:
    """Return a document."""
    return document_presenter.document(caller.state, (await find_document(caller, id)).row)


@router.patch("/v3/documents/{id}")
async def update(caller: WriteKey, id: DocumentPath, body: bodies.UpdateDocumentBody) -> JsonObject:
    """Replace the content if given; metadata merges key by key."""
    found = await find_document(caller, id)
    if body.tags not in ([], [found.access.namespace]):
        raise NotImplementedHereError(
            "A document can't change its container here", "Move the whole container with POST /v3/container-tags/merge."
        )
    if body.custom_id not in {None, found.row.id}:
        raise NotImplementedHereError("A document keeps its custom id here", "Add it again under the new id.")
    draft = replace(_to_draft(body, body.content), id=None)
    outcome = await document_submission.patch_document(found.access, found.row.id, draft)
    return {"id": encode_document_id(found.row.key), "status": outcome.status}


@router.delete("/v3/documents/{id}", status_code=204)
async def delete(caller: ForgetKey, id: DocumentPath) -> Response:
    """Delete a document with its passages, and memories that no other document supports."""
    found = await find_document(caller, id)
    await document_submission.delete_documents(caller.state, found.access.namespace, [found.row.id])
    caller.add_audit_fields(id=found.row.id)
    return Response(status_code=204)


@router.post("/v4/conversations")
async def add_conversation(caller: WriteKey, body: bodies.ConversationBody) -> JsonObject:
    """Store a conversation as a document; sent again with more messages, only these are new."""
    access = open_for_change(caller, body.tags)
    lines = [line for message in body.messages if (line := _message_line(message))]
    content = "\n".join(lines)
    draft = DocumentDraft(id=body.conversation_id, content=content, metadata=body.metadata)
    return {**await _add(access, draft), "conversationId": body.conversation_id}


def _batch_drafts(body: bodies.AddDocumentsBody) -> Iterator[tuple[list[str], DocumentDraft]]:
    """Yield the container tags and the draft of each document; what it leaves out is taken from the batch."""
    defaults = {name: getattr(body, name) for name in body.model_fields_set & bodies.DocumentFields.model_fields.keys()}
    for item in body.documents:
        document = bodies.AddDocumentBody.model_construct(content=item) if isinstance(item, str) else item
        given = {name: getattr(document, name) for name in document.model_fields_set}
        merged = document.model_copy(update={**defaults, **given})
        yield document.tags or body.tags, replace(_to_draft(merged, document.content), id=document.custom_id)


async def _add_together(access: NamespaceAccess, drafts: Mapping[int, DocumentDraft]) -> dict[int, JsonObject]:
    """Add documents of one container with one write; returns the outcomes by position in the batch."""
    outcomes = await document_submission.add_documents(access, list(drafts.values()))
    results = {}
    for position, outcome in zip(drafts, outcomes, strict=True):
        results[position] = (
            {"id": encode_document_id(outcome.key), "status": outcome.status}
            if outcome.error is None
            else _refused(outcome.error, outcome.details)
        )
    return results


def _refused(error: str, details: str | None) -> JsonObject:
    return {"id": "", "status": "error", "error": error, "details": details}


async def _add(access: NamespaceAccess, draft: DocumentDraft) -> JsonObject:
    outcome = await document_submission.add_document(access, draft)
    return {"id": encode_document_id(outcome.key), "status": outcome.status}


def _to_draft(body: bodies.DocumentFields, content: str | None) -> DocumentDraft:
    return DocumentDraft(
        id=body.custom_id,
        content=content,
        supporting_context=body.entity_context,
        metadata=_with_filepath(body.metadata, body.filepath),
        group=body.filter_by_metadata,
        date=body.document_date,
        task_type=body.task_type,
        dreaming=body.dreaming,
    )


def _with_filepath(metadata: Metadata | None, filepath: str | None) -> Metadata | None:
    return {**(metadata or {}), FILEPATH_FIELD: filepath} if filepath else metadata


def _file_fields(form: FormData) -> dict[str, Any]:
    """Return the fields of a form that only v3 has, without the empty ones."""
    fields: dict[str, Any] = {name: value for name, value in form.items() if isinstance(value, str) and value}
    if "containerTags" in fields:
        fields["containerTags"] = _listed_tags(fields["containerTags"])
    return fields


def _as_v5_form(form: FormData) -> FormData:
    """Return the form with v5's names, without the fields that only v3 has."""
    renamed = [(_FORM_FIELDS[name], value) for name, value in form.multi_items() if name in _FORM_FIELDS]
    return FormData(renamed)


def _listed_tags(raw: str) -> list[Any]:
    """Return the tags of a form field: a JSON list, or a text with commas."""
    try:
        parsed = parse_json(raw.encode())
    except ValueError:
        parsed = [tag.strip() for tag in raw.split(",")]
    return [tag for tag in parsed if tag != ""] if isinstance(parsed, list) else [raw]


async def _delete_ids(caller: AuthenticatedCaller, ids: Sequence[str]) -> tuple[int, list[JsonObject]]:
    by_namespace: dict[str, list[DocumentRow]] = {}
    errors = []
    for document_id in dict.fromkeys(ids):
        try:
            found = await find_document(caller, document_id)
        except NotFoundError as error:
            errors.append({"id": document_id, "error": error.details or error.error})
        else:
            by_namespace.setdefault(found.access.namespace, []).append(found.row)
    count = 0
    for namespace, rows in by_namespace.items():
        deleted, _ = await document_submission.delete_documents(caller.state, namespace, [row.id for row in rows])
        count += deleted
    return count, errors


async def _delete_contents(caller: AuthenticatedCaller, tag: str, filepath: str | None) -> int:
    access = open_for_change(caller, [tag])
    incarnations = caller.state.incarnations_of(access.namespace)
    selected = parse_filters(None, filepath)
    count = 0
    while incarnations:
        page = await caller.state.documents.page(incarnations, filter=selected, limit=_DELETION_PAGE)
        if not page.rows:
            break
        deleted, _ = await document_submission.delete_documents(
            caller.state, access.namespace, [row.id for row in page.rows]
        )
        count += deleted
    return count


def _message_line(message: bodies.Message) -> str:
    parts = (
        [message.content]
        if isinstance(message.content, str)
        else [part.text if part.type == "text" else part.image_url.url for part in message.content]
    )
    text = "\n".join(part for part in parts if part.strip())
    said = " ".join([*([text] if text else []), *map(_tool_call, message.tool_calls or [])])
    return f"{message.name or message.role}: {said}" if said else ""


def _tool_call(call: Any) -> str:
    """Return a tool call as text: the function with its arguments, or all of it in another shape than OpenAI's."""
    match call:
        case {"function": {"name": str(name), **rest}}:
            return f"[calls {name} {rest.get('arguments', '')}]".replace(" ]", "]")
        case _:
            return f"[calls {json.dumps(call, ensure_ascii=False)}]"
