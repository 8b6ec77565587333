"""Connections of v3, which v5 calls connectors."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import TypeAdapter, ValidationError

from api.dependencies.authentication import AuthenticatedCaller, ConnectKey, SeeConnectorsKey, require_scopes
from api.errors.http_errors import BadRequestError, NotFoundError, NotImplementedHereError
from api.routes.contract_route import LenientRoute
from api.routes.v3_v4.container_tags import open_container, open_for_change
from api.routes.v5 import connector_routes
from schemas.base import JsonObject, without_none
from schemas.http.v3_v4.connection_bodies import CreateConnectionBody
from schemas.http.v3_v4.lenient_body import TaggedBody
from schemas.http.v5.connector_bodies import ConnectorBody, ConnectorResponse, Provider

router = APIRouter(route_class=LenientRoute, prefix="/v3/connections", include_in_schema=False)

AUTHORIZATION_EXPIRY = "1 hour"
_WITH_KEYS = frozenset({"granola", "s3", "web-crawler"})
"""Providers that nobody has to authorize, so that there is no page to go back from."""
_BODY_ADAPTER: TypeAdapter[ConnectorBody] = TypeAdapter(ConnectorBody)
ConnectionPath = Annotated[str, Path(min_length=1, max_length=200)]


@router.post("/list")
async def list_connections(caller: SeeConnectorsKey, body: TaggedBody | None = None) -> list[JsonObject]:
    """List the active connections of the named containers, or of all that the key may read."""
    return [_connection(connector) for connector in await _connectors(caller, _tags(body), None)]


@router.post("/{provider}/connection")
async def get_by_provider(caller: SeeConnectorsKey, provider: Provider, body: TaggedBody | None = None) -> JsonObject:
    """Return the connection of a provider in a container."""
    return _connection(await _only_connector(caller, provider, _tags(body)))


@router.post("/{provider}/documents")
async def list_documents(caller: SeeConnectorsKey, provider: Provider, body: TaggedBody | None = None) -> None:
    """Refuse: documents don't say over the API which connection brought them."""
    await _connectors(caller, _tags(body), provider)
    raise NotImplementedHereError(
        f"The documents of {provider} are not listed by connection here", "List the container's documents instead."
    )


@router.post("/{provider}/import", status_code=202)
async def start_import(caller: ConnectKey, provider: Provider, body: TaggedBody | None = None) -> str:
    """Start a run of the provider's connections."""
    connectors = await _connectors(caller, _tags(body), provider)
    if not connectors:
        raise _not_found(provider)
    for connector in connectors:
        await connector_routes.sync(open_container(caller, connector.namespace or ""), connector.id)
    return "Import started"


@router.get("/{id}/resources")
async def list_resources(caller: SeeConnectorsKey, id: ConnectionPath) -> None:
    """Refuse: people select what a connection reads in the picker."""
    await _connector_by_id(caller, id)
    raise NotImplementedHereError(
        "Resources are not listed here", "Open the picker: GET /ns/{namespace}/connectors/{id}?include=picker."
    )


@router.post("/{id}/configure")
async def configure(caller: ConnectKey, id: ConnectionPath) -> None:
    """Refuse: the selection of v5 replaces it."""
    await _connector_by_id(caller, id)
    raise NotImplementedHereError(
        "Resources are not configured here", "Send a selection: PATCH /ns/{namespace}/connectors/{id}."
    )


@router.post("/{provider}")
async def create(caller: ConnectKey, provider: Provider, body: CreateConnectionBody) -> JsonObject:
    """Create a connection; a user authorizes it by the link, where the provider needs that."""
    access = open_for_change(caller, body.tags)
    fields = without_none(provider=provider, config=body.metadata, documentLimit=body.document_limit)
    if body.redirect_url and provider not in _WITH_KEYS:
        fields["redirectUrl"] = body.redirect_url
    try:
        connector = _BODY_ADAPTER.validate_python(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:]).replace("config", "metadata")
        raise BadRequestError(f"{provider} can't be connected so", f"{place or 'body'}: {first['msg']}") from error
    created = await connector_routes.create(access, connector)
    link = created.authorization.url if created.authorization else ""
    answer = {"id": created.id, "authLink": link, "expiresIn": AUTHORIZATION_EXPIRY if link else ""}
    return answer | without_none(redirectsTo=body.redirect_url or None)


@router.get("/{id}")
async def get(caller: SeeConnectorsKey, id: ConnectionPath) -> JsonObject:
    """Return a connection."""
    return _connection(await _connector_by_id(caller, id))


@router.delete("/{provider_or_id}")
async def delete(
    caller: ConnectKey,
    provider_or_id: ConnectionPath,
    body: TaggedBody | None = None,
    deleteDocuments: Annotated[bool, Query()] = True,  # noqa: N803 - the interface's name
) -> JsonObject:
    """Delete a connection by its id, or by its provider and containers."""
    if deleteDocuments:
        require_scopes(caller.principal, ["forget"])
    connector = (
        await _only_connector(caller, provider_or_id, _tags(body))
        if _tags(body)
        else await _connector_by_id(caller, provider_or_id)
    )
    caller.add_audit_fields(id=connector.id)
    await connector_routes.delete(open_container(caller, connector.namespace or ""), connector.id, deleteDocuments)
    return {"id": connector.id, "provider": connector.provider}


def _tags(body: TaggedBody | None) -> list[str]:
    """Return the named containers; clients send no body where they name none."""
    return [] if body is None else body.tags


async def _connectors(caller: AuthenticatedCaller, tags: list[str], provider: str | None) -> list[ConnectorResponse]:
    namespaces = {open_container(caller, tag).namespace for tag in tags}
    rows = connector_routes.readable_connectors(caller.state, caller.principal, provider, namespaces)
    return [await connector_routes.present_connector(caller.state, row) for row in rows]


async def _connector_by_id(caller: AuthenticatedCaller, connection_id: str) -> ConnectorResponse:
    connector = await connector_routes.find_active(caller.state, caller.principal, connection_id)
    if connector is None:
        raise _not_found(connection_id)
    return connector


async def _only_connector(caller: AuthenticatedCaller, provider: str, tags: list[str]) -> ConnectorResponse:
    connectors = await _connectors(caller, tags, provider)
    if not connectors:
        raise _not_found(provider)
    return connectors[0]


def _not_found(name: str) -> NotFoundError:
    return NotFoundError("Connection not found", f"There is no active connection {name[:100]!r}.")


def _connection(connector: ConnectorResponse) -> JsonObject:
    return {
        "id": connector.id,
        "provider": connector.provider,
        "createdAt": connector.system.created_at,
        "documentLimit": connector.document_limit,
        "containerTags": [connector.namespace] if connector.namespace else [],
        "metadata": connector.config or {},
        **without_none(email=connector.account or None),
    }
