"""Corrections of memories by people, the updates that await a decision, and redaction (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.archive.document_redaction import redact_memories
from api.commands import memory_correction
from api.dependencies.authentication import ReadAccess, RedactAccess
from api.reads import memory_reviews
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.extensions import correction_bodies

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

MAX_REVIEWS = 100


@router.post("/redactions", responses=error_responses(400, 401, 403, 409, 500, 503))
async def redact(access: RedactAccess, body: correction_bodies.RedactionBody) -> correction_bodies.RedactionResponse:
    """Forget memories and take the sentences that state them out of their documents."""
    response = await redact_memories(access.state, access.namespace, body.ids, dry_run=body.dry_run)
    access.add_audit_fields(dryRun=body.dry_run, count=response.count, documents=len(response.documents))
    return response


@router.post("/corrections", responses=error_responses(400, 401, 403, 404, 409, 500, 503))
async def correct(access: RedactAccess, body: correction_bodies.CorrectionBody) -> correction_bodies.CorrectionResponse:
    """Correct a memory, decide about an update, or take a correction back."""
    access.add_audit_fields(action=body.action)
    return await memory_correction.correct(access.state, access.namespace, body)


@router.get("/reviews", responses=error_responses(400, 401, 403, 500))
async def reviews(
    access: ReadAccess, limit: Annotated[int, Query(ge=1, le=MAX_REVIEWS)] = 20
) -> correction_bodies.ReviewResponse:
    """List the updates of memories that nobody has decided about, the doubtful first."""
    return await memory_reviews.open_reviews(access.state, access.namespace, limit)
