"""Connectors."""

from typing import Annotated

from fastapi import APIRouter, Body, Query

from api.auth import Anyone, Reader, Writer
from api.contract import ContractRoute, failures
from api.options import ConnectorParts, PageLimit, PageNumber, ResourcePath
from api.queries import connectors
from schemas.http.connectors import (
    Connector,
    ConnectorBody,
    ConnectorCreated,
    ConnectorDeleted,
    ConnectorPatch,
    ConnectorsAnswer,
    Provider,
    SyncQueued,
)
from schemas.http.parts import Maybe, Uri

router = APIRouter(route_class=ContractRoute, tags=["Connectors"])

_LIST = failures(400, 401, 403, 500)
_ONE = failures(400, 401, 403, 404, 500)


@router.get("/connectors", operation_id="getConnectors", responses=_LIST, response_model_exclude_unset=True)
async def list_all(
    entry: Anyone,
    provider: Maybe[Annotated[Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> ConnectorsAnswer:
    """Connectors of every namespace that the key may read."""
    rows, pages = await connectors.page(
        entry.state, entry.principal, namespace=None, provider=provider, number=page, limit=limit
    )
    return ConnectorsAnswer(connectors=rows, pagination=pages)


@router.get(
    "/ns/{namespace}/connectors",
    operation_id="getNsByNamespaceConnectors",
    responses=_LIST,
    response_model_exclude_unset=True,
)
async def list_of_namespace(
    access: Reader,
    provider: Maybe[Annotated[Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> ConnectorsAnswer:
    """Connectors of a namespace."""
    rows, pages = await connectors.page(
        access.state,
        access.principal,
        namespace=access.namespace,
        provider=provider,
        number=page,
        limit=limit,
    )
    return ConnectorsAnswer(connectors=rows, pagination=pages)


@router.post(
    "/ns/{namespace}/connectors",
    operation_id="postNsByNamespaceConnectors",
    status_code=201,
    responses=failures(400, 401, 402, 403, 500, 503),
)
async def create(access: Writer, body: Annotated[ConnectorBody, Body()]) -> ConnectorCreated:
    """Connect a source of documents."""
    created = await connectors.create(access.state, access.principal, access.namespace, body)
    access.note(id=created.id, provider=body.provider)
    return created


@router.post(
    "/ns/{namespace}/connectors/{id:path}/sync",
    operation_id="postNsByNamespaceConnectorsByIdSync",
    status_code=202,
    responses=failures(400, 401, 402, 403, 404, 409, 500, 503),
)
async def sync(access: Writer, id: ResourcePath) -> SyncQueued:
    """Synchronise now."""
    await connectors.sync(access.state, access.namespace, id)
    return SyncQueued(id=id, status="queued")


@router.get(
    "/ns/{namespace}/connectors/{id:path}",
    operation_id="getNsByNamespaceConnectorsById",
    responses=_ONE,
    response_model_exclude_unset=True,
)
async def get(
    access: Reader,
    id: ResourcePath,
    include: ConnectorParts,
    returnUrl: Maybe[Annotated[Uri, Query()]] = None,  # noqa: N803 - the contract's name
) -> Connector:
    """A connector."""
    return await connectors.get(
        access.state, access.principal, access.namespace, id, include=include, return_url=returnUrl
    )


@router.patch(
    "/ns/{namespace}/connectors/{id:path}",
    operation_id="patchNsByNamespaceConnectorsById",
    responses=_ONE,
    response_model_exclude_unset=True,
)
async def update(access: Writer, id: ResourcePath, body: ConnectorPatch) -> Connector:
    """Change what a connector synchronises."""
    return await connectors.update(access.state, access.namespace, id, body)


@router.delete(
    "/ns/{namespace}/connectors/{id:path}",
    operation_id="deleteNsByNamespaceConnectorsById",
    responses=_ONE,
)
async def delete(
    access: Writer,
    id: ResourcePath,
    deleteDocuments: Maybe[Annotated[bool, Query()]] = None,  # noqa: N803 - the contract's name
) -> ConnectorDeleted:
    """Disconnect."""
    await connectors.delete(access.state, access.namespace, id, documents=deleteDocuments is not False)
    return ConnectorDeleted(id=id, deleted=True)
