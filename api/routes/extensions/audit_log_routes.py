"""Audit log for operators (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.dependencies.authentication import OperatorKey
from api.errors.http_errors import ServiceUnavailableError
from api.routes.contract_route import ContractRoute, error_responses
from schemas.base import format_timestamp
from schemas.http.extensions.audit_log_bodies import AuditEntry, AuditLogResponse

router = APIRouter(route_class=ContractRoute, prefix="/admin/audit", tags=["Administration"])

Limit = Annotated[int, Query(ge=1, le=1000)]
BeforeOffset = Annotated[int | None, Query(ge=0)]


@router.get("", responses=error_responses(400, 401, 403, 500, 503))
async def list_audit_entries(caller: OperatorKey, limit: Limit = 100, before: BeforeOffset = None) -> AuditLogResponse:
    """List administrative actions, newest first."""
    audit = caller.state.policies.audit
    if audit is None:
        raise ServiceUnavailableError("No audit log", "This process keeps no audit log.")
    entries = await audit.newest(limit, before)
    shown = [
        AuditEntry(offset=offset, at=format_timestamp(entry.at), **entry.model_dump(exclude={"at"}))
        for offset, entry in entries
    ]
    return AuditLogResponse(entries=shown, before=shown[-1].offset if len(shown) == limit else None)
