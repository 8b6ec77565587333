"""Corrections of memories by people, the updates that await a decision, and redaction (extension of the contract).

Each correction is an event of the log, and can be taken back. Forgetting and ending hide a memory, as any forgetting
does. All other corrections are statements: a document of their own states the memory, so that versions follow from it
as from any source, and deleting it takes the correction back.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from api.archive.document_redaction import redact_memories
from api.commands import memory_forgetting
from api.commands.document_submission import delete_documents
from api.commands.memory_storage import StatedMemory, store_memories
from api.dependencies.app_state import AppState
from api.dependencies.authentication import ReadAccess, RedactAccess
from api.errors.http_errors import BadRequestError, ConflictError, NotFoundError
from api.reads import memory_reviews
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.memory.versioning.provenance import DECIDED_REASON, ENDED_REASON, EXPIRED_REASON
from pipeline.rows import MemoryRow
from schemas.events import Relation, RelationKind
from schemas.http.extensions import correction_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

MAX_REVIEWS = 100
CORRECTION_FIELD: Final = "correction"
"""Metadata of the documents that corrections are kept as: the action."""
_TITLES: Final = {
    "edit": "Edited by a person",
    "confirm": "Confirmed by a person",
    "accept": "Update accepted by a person",
    "decline": "Update declined by a person",
    "keep-both": "Both confirmed by a person",
}


@router.post("/redactions", responses=error_responses(400, 401, 403, 409, 500, 503))
async def redact(access: RedactAccess, body: bodies.RedactionBody) -> bodies.RedactionResponse:
    """Forget memories and take the sentences that state them out of their documents."""
    response = await redact_memories(access.state, access.namespace, body.ids, dry_run=body.dry_run)
    access.add_audit_fields(dryRun=body.dry_run, count=response.count, documents=len(response.documents))
    return response


@router.post("/corrections", responses=error_responses(400, 401, 403, 404, 409, 500, 503))
async def correct(access: RedactAccess, body: bodies.CorrectionBody) -> bodies.CorrectionResponse:
    """Correct a memory, decide about an update, or take a correction back."""
    access.add_audit_fields(action=body.action)
    state, name = access.state, access.namespace
    if body.action == "withdraw":
        return await _withdraw(state, name, body.id)
    row = await state.require_memory(name, body.id)
    if body.action in {"forget", "end", "restore"}:
        return await _hide_or_restore(state, row, body.action)
    if row.forgotten_at is not None:
        raise ConflictError("The memory is forgotten", "Restore it first.")
    return await _state_anew(state, name, await _statement(state, name, row, body))


@router.get("/reviews", responses=error_responses(400, 401, 403, 500))
async def reviews(access: ReadAccess, limit: Annotated[int, Query(ge=1, le=MAX_REVIEWS)] = 20) -> bodies.ReviewResponse:
    """List the updates of memories that nobody has decided about, the doubtful first."""
    return await memory_reviews.open_reviews(access.state, access.namespace, limit)


async def _hide_or_restore(state: AppState, row: MemoryRow, action: str) -> bodies.CorrectionResponse:
    if action == "restore":
        if row.forgotten_at is None:
            raise ConflictError("The memory is not forgotten", "There is nothing to restore.")
        if row.forget_reason == EXPIRED_REASON:
            raise ConflictError("The memory ended by its own words", "Edit it, or change its document.")
        await memory_forgetting.restore(state, row)
        return bodies.CorrectionResponse(id=row.id, memory=row.text, undo=None)
    if row.forgotten_at is not None:
        raise ConflictError("The memory is forgotten already", "Restore it first.")
    await memory_forgetting.hide(state, [row], ENDED_REASON if action == "end" else memory_forgetting.REQUESTED_REASON)
    return bodies.CorrectionResponse(id=None, memory=None, undo=bodies.CorrectionUndo(action="restore", id=row.id))


async def _statement(state: AppState, name: str, row: MemoryRow, body: bodies.CorrectionBody) -> StatedMemory:
    if body.action == "edit":
        if body.text is None or not body.text.strip() or body.text.strip() == row.text:
            raise BadRequestError("No new wording is given", "Send `text` with what the memory should say.")
        return _stated(body.text.strip(), row, body, replaces=row)
    if body.action == "confirm":
        return _stated(row.text, row, body)
    if body.action not in bodies.DECISIONS or body.replaced is None:
        raise BadRequestError("The other memory is not named", "Send `replaced` with the id of the replaced memory.")
    older = await state.require_memory(name, body.replaced)
    if body.action == "decline":
        return _stated(older.text, older, body, relation=("updates", row.id))
    relation: RelationKind = "updates" if body.action == "accept" else "extends"
    return _stated(row.text, row, body, relation=(relation, older.id), is_about_now=False)


def _stated(
    text: str,
    row: MemoryRow,
    body: bodies.CorrectionBody,
    *,
    replaces: MemoryRow | None = None,
    relation: tuple[RelationKind, str] | None = None,
    is_about_now: bool = True,
) -> StatedMemory:
    target = (replaces.id if replaces else relation[1] if relation else row.id)[:200]
    return StatedMemory(
        text=text,
        is_static=row.is_static,
        # The target makes the document one of its own for each pair of memories.
        metadata={CORRECTION_FIELD: body.action, "corrected": target},
        date=None if is_about_now else row.date or row.updated_at.isoformat(),
        replaces=replaces.id if replaces else None,
        relations=(Relation(kind=relation[0], target=relation[1], reason=DECIDED_REASON),) if relation else (),
        title=_TITLES[body.action],
        is_about_now=is_about_now,
    )


async def _state_anew(state: AppState, name: str, stated: StatedMemory) -> bodies.CorrectionResponse:
    (stored,) = await store_memories(state, name, [stated])
    document = (await state.documents_by_key([stored.document]))[stored.document]
    return bodies.CorrectionResponse(
        id=stored.id, memory=stored.text, undo=bodies.CorrectionUndo(action="withdraw", id=document.id)
    )


async def _withdraw(state: AppState, name: str, document_id: str) -> bodies.CorrectionResponse:
    found = (await state.find_documents(name, [document_id])).get(document_id)
    if found is None or CORRECTION_FIELD not in (found.metadata or {}):
        raise NotFoundError("Correction not found", f"There is no correction {document_id[:100]!r} in {name}.")
    await delete_documents(state, name, [document_id])
    return bodies.CorrectionResponse(id=None, memory=None, undo=None)
