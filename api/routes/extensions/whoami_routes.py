"""Identity of the caller's key (extension of the contract)."""

from fastapi import APIRouter

from api.dependencies.authentication import AnyKey
from api.presenters import resource_presenter
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.extensions.api_key_bodies import CallerResponse

router = APIRouter(route_class=ContractRoute, prefix="/admin/whoami", tags=["Administration"])


@router.get("", responses=error_responses(400, 401, 500))
async def whoami(caller: AnyKey) -> CallerResponse:
    """Return the caller's key and its permissions."""
    return resource_presenter.caller_response(caller.principal, caller.state.catalog.key(caller.principal.id))
