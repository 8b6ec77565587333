"""Monthly usage for administrators (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.dependencies.authentication import AdminKey
from api.presenters import usage_report
from api.routes.contract_route import ContractRoute
from pipeline.usage_counter import month_of
from schemas.http.extensions.usage_bodies import UsageResponse

router = APIRouter(route_class=ContractRoute, prefix="/admin/usage", tags=["Administration"])

Month = Annotated[str | None, Query(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]


@router.get("")
async def monthly_usage(caller: AdminKey, month: Month = None) -> UsageResponse:
    """Return documents, searches and quotas of a month (default: the current one), by key and in total."""
    return usage_report.usage_response(caller.state, caller.principal, month or month_of(caller.state.clock.now()))
