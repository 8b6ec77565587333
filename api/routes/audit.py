"""The audit log, for operators. Outside the contract."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.auth import Admin
from api.contract import ContractRoute, failures
from api.problems import UnavailableError
from schemas.base import timestamp
from schemas.http.audit import Act, AuditAnswer

router = APIRouter(route_class=ContractRoute, prefix="/admin/audit", tags=["Administration"])

Limit = Annotated[int, Query(ge=1, le=1000)]
Before = Annotated[int | None, Query(ge=0)]


@router.get("", operation_id="getAdminAudit", responses=failures(400, 401, 403, 500, 503))
async def acts(entry: Admin, limit: Limit = 100, before: Before = None) -> AuditAnswer:
    """Administrative acts, newest first."""
    audit = entry.state.guards.audit
    if audit is None:
        raise UnavailableError("There is no audit log here", "This process keeps none.")
    found = await audit.newest(limit, before)
    shown = [Act(place=place, at=timestamp(act.at), **act.model_dump(exclude={"at"})) for place, act in found]
    return AuditAnswer(acts=shown, before=shown[-1].place if len(shown) == limit else None)
