"""What was used, for those who issue keys. Outside the contract."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.auth import KeyAdmin
from api.contract import ContractRoute, failures
from api.queries import usage
from pipeline.usage import month_of
from schemas.http.usage import UsageAnswer

router = APIRouter(route_class=ContractRoute, prefix="/admin/usage", tags=["Administration"])

Month = Annotated[str | None, Query(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]


@router.get("", operation_id="getAdminUsage", responses=failures(400, 401, 403, 500))
async def month_of_keys(entry: KeyAdmin, month: Month = None) -> UsageAnswer:
    """Documents and searches of a month (the present one), by key and in all, and what there may be."""
    return usage.shown(entry.state, entry.principal, month or month_of(entry.state.clock.now()))
