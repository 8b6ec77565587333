"""Audit log for operators, and recall logs of namespaces (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.commands import namespace_settings
from api.dependencies.authentication import AdminAccess, OperatorKey
from api.policies.recall_log import decode_place, encode_place
from api.routes.contract_route import ContractRoute, error_responses
from schemas.base import format_timestamp
from schemas.http.extensions import audit_log_bodies as bodies

router = APIRouter(route_class=ContractRoute)

Limit = Annotated[int, Query(ge=1, le=1000)]
BeforeOffset = Annotated[int | None, Query(ge=0)]
BeforePlace = Annotated[str | None, Query(pattern=r"^\d{1,6}\.\d{1,18}(-\d{1,6}\.\d{1,18})*$", max_length=4096)]


@router.get(
    "/admin/audit",
    tags=["Administration"],
    responses=error_responses(400, 401, 403, 500, 503),
    response_model_exclude_unset=True,
)
async def list_audit_entries(
    caller: OperatorKey, limit: Limit = 100, before: BeforeOffset = None
) -> bodies.AuditLogResponse:
    """List administrative actions, newest first."""
    entries = await caller.state.policies.audit.newest(limit, before)
    shown = [
        bodies.AuditEntry(
            offset=offset, at=format_timestamp(entry.at), **entry.model_dump(exclude={"at"}, exclude_none=True)
        )
        for offset, entry in entries
    ]
    return bodies.AuditLogResponse(entries=shown, before=shown[-1].offset if len(shown) == limit else None)


@router.put("/ns/{namespace}/explain/recall-log", tags=["Why"], responses=error_responses(400, 401, 403, 404, 500))
async def set_recall_log(access: AdminAccess, body: bodies.RecallLogBody) -> bodies.RecallLogSetting:
    """Begin or end to record who reads what of the namespace."""
    row = await namespace_settings.set_recall_log(access.state, access.namespace, enabled=body.recall_log)
    access.add_audit_fields(recallLog=row.recall_log)
    return bodies.RecallLogSetting(recall_log=row.recall_log)


@router.get("/ns/{namespace}/explain/recall-log", tags=["Why"], responses=error_responses(400, 401, 403, 404, 500, 503))
async def list_recalls(access: AdminAccess, limit: Limit = 100, before: BeforePlace = None) -> bodies.RecallLogResponse:
    """List the recorded reads of the namespace, newest first.

    A page may be short, or empty, and still have `before`: only so much of the log is read for one.
    """
    recalls = access.state.policies.recalls
    row = access.state.require_namespace(access.namespace)
    entries, left = await recalls.newest(row.incarnations, limit, None if before is None else decode_place(before))
    shown = [
        bodies.RecallEntry(
            at=format_timestamp(entry.at), ids=list(entry.ids), **entry.model_dump(exclude={"at", "ids", "incarnation"})
        )
        for entry in entries
    ]
    return bodies.RecallLogResponse(recall_log=row.recall_log, entries=shown, before=encode_place(left))
