"""Redaction of what memories were formed of (extension of the contract)."""

from fastapi import APIRouter

from api.archive.document_redaction import redact_memories
from api.dependencies.authentication import RedactAccess
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.extensions.redaction_bodies import RedactionBody, RedactionResponse

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain/redactions", tags=["Why"])


@router.post("", responses=error_responses(400, 401, 403, 409, 500, 503))
async def redact(access: RedactAccess, body: RedactionBody) -> RedactionResponse:
    """Forget memories and take the sentences that state them out of their documents."""
    response = await redact_memories(access.state, access.namespace, body.ids, dry_run=body.dry_run)
    access.add_audit_fields(dryRun=body.dry_run, count=response.count, documents=len(response.documents))
    return response
