"""The organization."""

from fastapi import APIRouter

from api.auth import Admin, Anyone, Entry
from api.contract import ContractRoute, failures
from api.queries import namespaces
from schemas.http.organization import OrganizationAnswer, OrganizationPatch

router = APIRouter(route_class=ContractRoute, prefix="/organization", tags=["Organization"])


@router.get("", operation_id="getOrganization", responses=failures(401, 403, 500))
async def get(entry: Anyone) -> OrganizationAnswer:
    """What guides memory everywhere, and how many namespaces the key may read."""
    return _answer(entry)


@router.patch("", operation_id="patchOrganization", responses=failures(400, 401, 403, 500))
async def update(entry: Admin, body: OrganizationPatch) -> OrganizationAnswer:
    """Set or clear what guides memory everywhere."""
    await namespaces.set_context(entry.state, body.organizational_context)
    return _answer(entry)


def _answer(entry: Entry) -> OrganizationAnswer:
    return OrganizationAnswer(
        organizational_context=entry.state.catalog.organization().context,
        namespace_count=len(namespaces.readable(entry.state, entry.principal)),
    )
