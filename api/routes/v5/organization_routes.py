"""Organization routes."""

from fastapi import APIRouter

from api.commands import namespace_settings
from api.dependencies.authentication import AuthenticatedCaller, OperatorKey, ReadKey
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.v5.organization_bodies import OrganizationPatch, OrganizationResponse

router = APIRouter(route_class=ContractRoute, prefix="/organization", tags=["Organization"])


@router.get("", responses=error_responses(401, 403, 500))
async def get(caller: ReadKey) -> OrganizationResponse:
    """Return the organizational context and the number of namespaces that the key may read."""
    return _organization_response(caller)


@router.patch("")
async def update(caller: OperatorKey, body: OrganizationPatch) -> OrganizationResponse:
    """Set or clear the organizational context."""
    await namespace_settings.set_organizational_context(caller.state, body.organizational_context)
    return _organization_response(caller)


def _organization_response(caller: AuthenticatedCaller) -> OrganizationResponse:
    return OrganizationResponse(
        organizational_context=caller.state.catalog.organization().context,
        namespace_count=len(namespace_settings.readable_namespaces(caller.state, caller.principal)),
    )
