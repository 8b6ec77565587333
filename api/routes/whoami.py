"""Who a key is. Outside the contract, and open to every key."""

from fastapi import APIRouter

from api.auth import Anyone
from api.contract import ContractRoute, failures
from api.queries import present
from schemas.http.keys import WhoAmI

router = APIRouter(route_class=ContractRoute, prefix="/admin/whoami", tags=["Administration"])


@router.get("", operation_id="getAdminWhoami", responses=failures(400, 401, 500))
async def whoami(entry: Anyone) -> WhoAmI:
    """The key that asks, and what it opens."""
    return present.who(entry.principal, entry.state.catalog.key(entry.principal.id))
