"""Growth of namespaces, for keys that may read them (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.dependencies.authentication import ReadKey
from api.errors.http_errors import ForbiddenError
from api.presenters import growth_report
from api.routes.contract_route import ContractRoute
from schemas.http.extensions.growth_bodies import GrowthResponse
from schemas.http.field_types import NamespaceName
from schemas.limits import MAX_PAGE_SIZE

router = APIRouter(route_class=ContractRoute, prefix="/admin/growth", tags=["Administration"])

NamespaceNames = Annotated[list[NamespaceName], Query(min_length=1, max_length=MAX_PAGE_SIZE)]
Days = Annotated[int, Query(ge=1, le=366)]


@router.get("")
async def growth_by_day(caller: ReadKey, namespace: NamespaceNames, days: Days = 30) -> GrowthResponse:
    """Count new documents and memories per day; unknown namespaces are left out."""
    unreadable = [name for name in namespace if not caller.principal.may_read(name)]
    if unreadable:
        raise ForbiddenError("The key does not open this namespace", f"namespace: {unreadable[0]}")
    rows = (caller.state.catalog.namespace(name) for name in dict.fromkeys(namespace))
    return await growth_report.growth_report(caller.state, [row for row in rows if row is not None], days)
