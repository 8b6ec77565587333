"""Connectors, honestly: this deployment has none yet, so lists are empty and none can be created."""

# ruff: noqa: ARG001 - parameters say what is accepted, before there is anything to do with it

from typing import Annotated

from fastapi import APIRouter, Body, Query

from api.auth import Anyone, Reader, Writer
from api.contract import ContractRoute, failures
from api.options import ConnectorParts, PageLimit, PageNumber, ResourcePath
from api.problems import NotFoundError, UnavailableError
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
from schemas.http.pagination import pagination
from schemas.http.parts import Maybe, Uri

router = APIRouter(route_class=ContractRoute, tags=["Connectors"])

_LIST = failures(400, 401, 403, 500)
_ONE = failures(400, 401, 403, 404, 500)


def _none(page: int, limit: int) -> ConnectorsAnswer:
    return ConnectorsAnswer(connectors=[], pagination=pagination(page, limit, 0))


def _missing(id: str) -> NotFoundError:
    return NotFoundError("Connector not found", f"There is no connector {id[:100]!r}.")


@router.get("/connectors", operation_id="getConnectors", responses=_LIST, response_model_exclude_unset=True)
async def list_all(
    _entry: Anyone,
    provider: Maybe[Annotated[Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> ConnectorsAnswer:
    """Connectors of every namespace that the key may read."""
    return _none(page, limit)


@router.get(
    "/ns/{namespace}/connectors",
    operation_id="getNsByNamespaceConnectors",
    responses=_LIST,
    response_model_exclude_unset=True,
)
async def list_of_namespace(
    _access: Reader,
    provider: Maybe[Annotated[Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> ConnectorsAnswer:
    """Connectors of a namespace."""
    return _none(page, limit)


@router.post(
    "/ns/{namespace}/connectors",
    operation_id="postNsByNamespaceConnectors",
    status_code=201,
    responses=failures(400, 401, 402, 403, 500, 503),
)
async def create(_access: Writer, body: Annotated[ConnectorBody, Body()]) -> ConnectorCreated:
    """Connect a source of documents."""
    raise UnavailableError("Not available on this deployment", f"It can't connect {body.provider}.")


@router.post(
    "/ns/{namespace}/connectors/{id:path}/sync",
    operation_id="postNsByNamespaceConnectorsByIdSync",
    status_code=202,
    responses=failures(400, 401, 402, 403, 404, 409, 500, 503),
)
async def sync(_access: Writer, id: ResourcePath) -> SyncQueued:
    """Synchronise now."""
    raise _missing(id)


@router.get(
    "/ns/{namespace}/connectors/{id:path}",
    operation_id="getNsByNamespaceConnectorsById",
    responses=_ONE,
    response_model_exclude_unset=True,
)
async def get(
    _access: Reader,
    id: ResourcePath,
    include: ConnectorParts,
    returnUrl: Maybe[Annotated[Uri, Query()]] = None,  # noqa: N803 - the contract's name
) -> Connector:
    """A connector."""
    raise _missing(id)


@router.patch(
    "/ns/{namespace}/connectors/{id:path}",
    operation_id="patchNsByNamespaceConnectorsById",
    responses=_ONE,
    response_model_exclude_unset=True,
)
async def update(_access: Writer, id: ResourcePath, body: ConnectorPatch) -> Connector:
    """Change what a connector synchronises."""
    raise _missing(id)


@router.delete(
    "/ns/{namespace}/connectors/{id:path}",
    operation_id="deleteNsByNamespaceConnectorsById",
    responses=_ONE,
)
async def delete(
    _access: Writer,
    id: ResourcePath,
    deleteDocuments: Maybe[Annotated[bool, Query()]] = None,  # noqa: N803 - the contract's name
) -> ConnectorDeleted:
    """Disconnect."""
    raise _missing(id)
