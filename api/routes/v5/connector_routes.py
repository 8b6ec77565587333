"""Connector routes."""

from typing import Annotated

from fastapi import APIRouter, Body, Query

from api.commands import connector_management
from api.dependencies.authentication import ConnectAccess, SeeConnectorsAccess, SeeConnectorsKey, require_scopes
from api.dependencies.path_and_query_parameters import ConnectorIncludes, PageLimit, PageNumber, ResourcePath
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.field_types import Omittable, Uri
from schemas.http.v5 import connector_bodies as bodies

router = APIRouter(route_class=ContractRoute, tags=["Connectors"])

_LIST_ERRORS = error_responses(400, 401, 403, 500)
_ITEM_ERRORS = error_responses(400, 401, 403, 404, 500)


@router.get("/connectors", responses=_LIST_ERRORS, response_model_exclude_unset=True)
async def list_all(
    caller: SeeConnectorsKey,
    provider: Omittable[Annotated[bodies.Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> bodies.ConnectorsResponse:
    """List the connectors of all namespaces that the key may read."""
    return await connector_management.list_connectors(
        caller.state, caller.principal, namespace=None, provider=provider, page=page, limit=limit
    )


@router.get("/ns/{namespace}/connectors", responses=_LIST_ERRORS, response_model_exclude_unset=True)
async def list_of_namespace(
    access: SeeConnectorsAccess,
    provider: Omittable[Annotated[bodies.Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> bodies.ConnectorsResponse:
    """List the connectors of a namespace."""
    return await connector_management.list_connectors(
        access.state, access.principal, namespace=access.namespace, provider=provider, page=page, limit=limit
    )


@router.post("/ns/{namespace}/connectors", status_code=201, responses=error_responses(400, 401, 402, 403, 500, 503))
async def create(access: ConnectAccess, body: Annotated[bodies.ConnectorBody, Body()]) -> bodies.ConnectorCreated:
    """Create a connector."""
    created = await connector_management.create(access.state, access.principal, access.namespace, body)
    access.add_audit_fields(id=created.id, provider=body.provider)
    return created


@router.post(
    "/ns/{namespace}/connectors/{id:path}/sync",
    status_code=202,
    responses=error_responses(400, 401, 402, 403, 404, 409, 500, 503),
)
async def sync(access: ConnectAccess, id: ResourcePath) -> bodies.SyncQueued:
    """Start a sync run."""
    await connector_management.sync(access.state, access.namespace, id)
    return bodies.SyncQueued(id=id, status="queued")


@router.get("/ns/{namespace}/connectors/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def get(
    access: SeeConnectorsAccess,
    id: ResourcePath,
    include: ConnectorIncludes,
    returnUrl: Omittable[Annotated[Uri, Query()]] = None,  # noqa: N803 - the contract's name
) -> bodies.ConnectorResponse:
    """Return a connector."""
    return await connector_management.get(
        access.state, access.principal, access.namespace, id, include=include, return_url=returnUrl
    )


@router.patch("/ns/{namespace}/connectors/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def update(access: ConnectAccess, id: ResourcePath, body: bodies.ConnectorPatch) -> bodies.ConnectorResponse:
    """Change a connector's selection or document limit."""
    return await connector_management.update(access.state, access.namespace, id, body)


@router.delete("/ns/{namespace}/connectors/{id:path}", responses=_ITEM_ERRORS)
async def delete(
    access: ConnectAccess,
    id: ResourcePath,
    deleteDocuments: Omittable[Annotated[bool, Query()]] = None,  # noqa: N803 - the contract's name
) -> bodies.ConnectorDeleted:
    """Remove a connector."""
    if deleteDocuments is not False:
        require_scopes(access.principal, ["forget"])
    await connector_management.delete(access.state, access.namespace, id, documents=deleteDocuments is not False)
    return bodies.ConnectorDeleted(id=id, deleted=True)
