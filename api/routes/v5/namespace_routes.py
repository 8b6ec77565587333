"""Routes of namespaces (list, read, describe, delete and move) and of the organization."""

from fastapi import APIRouter, Response

from api.commands import namespace_settings
from api.dependencies import authentication
from api.dependencies.path_and_query_parameters import MoveTarget, NameQuery, PageLimit, PageNumber
from api.presenters import resource_presenter
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.field_types import Omittable
from schemas.http.pagination import paginate
from schemas.http.v5 import namespace_bodies as bodies

router = APIRouter(route_class=ContractRoute, tags=["Namespaces"])
organization_router = APIRouter(route_class=ContractRoute, prefix="/organization", tags=["Organization"])

_LIST_ERRORS = error_responses(400, 401, 403, 500)
_ITEM_ERRORS = error_responses(400, 401, 403, 404, 500)


@router.get("/ns", responses=_LIST_ERRORS)
@router.get("/namespaces", responses=_LIST_ERRORS, description="List namespaces; the same operation as /ns.")
async def list_namespaces(
    caller: authentication.ReadKey, page: PageNumber = 1, limit: PageLimit = 10, q: Omittable[NameQuery] = None
) -> bodies.NamespacesResponse:
    """List the namespaces that the key may read, newest first."""
    catalog, scopes, name_part = caller.state.catalog, caller.principal.readable, (q or "").lower()
    shown = catalog.newest(scopes, name_part, start=(page - 1) * limit, limit=limit)
    incarnations = [incarnation for row in shown for incarnation in row.incarnations]
    documents = caller.state.documents.count_by_incarnation(incarnations)
    memories = caller.state.memories.count_by_incarnation(incarnations)
    return bodies.NamespacesResponse(
        namespaces=[
            resource_presenter.listed_namespace_response(
                row,
                sum(documents.get(incarnation, 0) for incarnation in row.incarnations),
                sum(memories.get(incarnation, 0) for incarnation in row.incarnations),
            )
            for row in shown
        ],
        pagination=paginate(page, limit, catalog.count(scopes, name_part)),
    )


@router.get("/ns/{namespace}", responses=_ITEM_ERRORS)
async def get(access: authentication.ReadAccess) -> bodies.NamespaceDetails:
    """Return a namespace's settings."""
    return resource_presenter.namespace_response(access.state.require_namespace(access.namespace))


@router.patch("/ns/{namespace}", responses=_ITEM_ERRORS)
async def update(access: authentication.WriteAccess, body: bodies.NamespacePatch) -> bodies.NamespaceDetails:
    """Set or clear the namespace's supporting context."""
    row = await namespace_settings.set_supporting_context(access.state, access.namespace, body.supporting_context)
    return resource_presenter.namespace_response(row)


@router.delete(
    "/ns/{namespace}",
    response_model=bodies.NamespaceDeleted | bodies.NamespaceMoveQueued,
    responses={
        202: {"model": bodies.NamespaceMoveQueued, "description": ""},
        **error_responses(400, 401, 403, 404, 409, 500),
    },
)
async def delete(
    response: Response,
    access: authentication.ForgetAccess,
    moveTo: Omittable[MoveTarget] = None,  # noqa: N803 - the contract's name
) -> bodies.NamespaceDeleted | bodies.NamespaceMoveQueued:
    """Delete the namespace, or move its content to another namespace."""
    if moveTo is None:
        counts = await namespace_settings.delete_namespace(access.state, access.namespace)
        access.add_audit_fields(documents=counts.documents, memories=counts.memories)
        return bodies.NamespaceDeleted(
            status="deleted",
            namespace=access.namespace,
            deleted_documents_count=counts.documents,
            deleted_memories_count=counts.memories,
        )
    authentication.require_scopes(access.principal, ["write"])
    authentication.require_coverage(access.principal, moveTo)
    operation = await namespace_settings.request_move(access.state, access.namespace, moveTo)
    response.status_code = 202
    return bodies.NamespaceMoveQueued(
        status="queued", operation_id=operation, namespace=access.namespace, move_to=moveTo
    )


@organization_router.get("", responses=error_responses(401, 403, 500))
async def get_organization(caller: authentication.ReadKey) -> bodies.OrganizationResponse:
    """Return the organizational context and the number of namespaces that the key may read."""
    return _organization_response(caller)


@organization_router.patch("")
async def update_organization(
    caller: authentication.OperatorKey, body: bodies.OrganizationPatch
) -> bodies.OrganizationResponse:
    """Set or clear the organizational context."""
    await namespace_settings.set_organizational_context(caller.state, body.organizational_context)
    return _organization_response(caller)


def _organization_response(caller: authentication.AuthenticatedCaller) -> bodies.OrganizationResponse:
    return bodies.OrganizationResponse(
        organizational_context=caller.state.catalog.organization().context,
        namespace_count=caller.state.catalog.count(caller.principal.readable),
    )


router.routes.extend(organization_router.routes)
