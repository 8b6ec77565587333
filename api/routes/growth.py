"""How namespaces grow, for every key that may read them. Outside the contract."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.auth import Anyone
from api.contract import ContractRoute, failures
from api.problems import ForbiddenError
from api.queries import growth
from schemas.http.growth import GrowthAnswer
from schemas.http.parts import NamespaceName
from schemas.limits import PAGE_LIMIT

router = APIRouter(route_class=ContractRoute, prefix="/admin/growth", tags=["Administration"])

Names = Annotated[list[NamespaceName], Query(min_length=1, max_length=PAGE_LIMIT)]
Days = Annotated[int, Query(ge=1, le=366)]


@router.get("", operation_id="getAdminGrowth", responses=failures(400, 401, 403, 500))
async def by_day(entry: Anyone, namespace: Names, days: Days = 30) -> GrowthAnswer:
    """Documents and memories of these namespaces by the day on which they came; unknown ones are left out."""
    closed = [name for name in namespace if not entry.principal.may_read(name)]
    if closed:
        raise ForbiddenError("The key does not open this namespace", f"namespace: {closed[0]}")
    found = (entry.state.catalog.namespace(name) for name in dict.fromkeys(namespace))
    return await growth.grown(entry.state, [row for row in found if row is not None], days)
