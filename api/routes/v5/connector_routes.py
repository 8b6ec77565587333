"""Connector routes: each change is written to the log, from which the sync scheduler acts."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Body, Query

from api.commands.namespace_settings import get_or_create_namespace
from api.dependencies.app_state import AppState
from api.dependencies.authentication import (
    ConnectAccess,
    NamespaceAccess,
    SeeConnectorsAccess,
    SeeConnectorsKey,
    require_scopes,
)
from api.dependencies.idempotency import resource_id, reused_key
from api.dependencies.path_and_query_parameters import ConnectorIncludes, PageLimit, PageNumber, ResourcePath
from api.dependencies.service_interfaces import ConnectorService
from api.errors import http_errors
from api.policies.api_keys import Principal
from api.presenters.connector_presenter import connector_created_response, connector_response
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.connector_registry import ConnectorCapabilities
from schemas.base import format_timestamp
from schemas.events import ConnectorChanged, SelectedItem
from schemas.http.field_types import Omittable, Uri
from schemas.http.pagination import paginate
from schemas.http.v5 import connector_bodies as bodies
from schemas.limits import MAX_CONNECTOR_DOCUMENTS

router = APIRouter(route_class=ContractRoute, tags=["Connectors"])

_LIST_ERRORS = error_responses(400, 401, 403, 500)
_ITEM_ERRORS = error_responses(400, 401, 403, 404, 500)
AUTHORIZATION_TTL = timedelta(hours=1)
_CONFIG_DEFAULTS: Mapping[str, Mapping[str, str | float | bool]] = {
    "web-crawler": {"crawlDepth": 3},
    "google-drive": {"syncScope": "selected"},
    "onedrive": {"syncScope": "selected"},
}
"""Defaults of a provider's config."""


@router.get("/connectors", responses=_LIST_ERRORS, response_model_exclude_unset=True)
async def list_all(
    caller: SeeConnectorsKey,
    provider: Omittable[Annotated[bodies.Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> bodies.ConnectorsResponse:
    """List the connectors of all namespaces that the key may read."""
    return await _page(caller.state, readable_connectors(caller.state, caller.principal, provider), page, limit)


@router.get("/ns/{namespace}/connectors", responses=_LIST_ERRORS, response_model_exclude_unset=True)
async def list_of_namespace(
    access: SeeConnectorsAccess,
    provider: Omittable[Annotated[bodies.Provider, Query()]] = None,
    page: PageNumber = 1,
    limit: PageLimit = 10,
) -> bodies.ConnectorsResponse:
    """List the connectors of a namespace."""
    rows = readable_connectors(access.state, access.principal, provider, {access.namespace})
    return await _page(access.state, rows, page, limit)


@router.post("/ns/{namespace}/connectors", status_code=201, responses=error_responses(400, 401, 402, 403, 500, 503))
async def create(access: ConnectAccess, body: Annotated[bodies.ConnectorBody, Body()]) -> bodies.ConnectorCreated:
    """Create a connector."""
    created = await _create(access, body)
    access.add_audit_fields(id=created.id, provider=body.provider)
    return created


@router.post(
    "/ns/{namespace}/connectors/{id:path}/sync",
    status_code=202,
    responses=error_responses(400, 401, 402, 403, 404, 409, 500, 503),
)
async def sync(access: ConnectAccess, id: ResourcePath) -> bodies.SyncQueued:
    """Start a sync run."""
    connectors, row = _require_connector(access, id)
    if row.status == "pending":
        raise http_errors.ConflictError("Not authorized yet", "Follow the connector's authorization link first.")
    _require_capabilities(access.state, row.provider)
    await start_run(connectors, row)
    return bodies.SyncQueued(id=id, status="queued")


@router.get("/ns/{namespace}/connectors/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def get(
    access: SeeConnectorsAccess,
    id: ResourcePath,
    include: ConnectorIncludes,
    returnUrl: Omittable[Annotated[Uri, Query()]] = None,  # noqa: N803 - the contract's name
) -> bodies.ConnectorResponse:
    """Return a connector."""
    connectors, row = _require_connector(access, id)
    answer = await present_connector(access.state, row, syncs="syncs" in include)
    may_connect = access.principal.may("connect", access.namespace)
    if row.status == "pending" and may_connect:
        url = await connectors.pending_authorization_link(row)
        if url is not None:
            answer.authorization = connector_created_response(row, url).authorization
    if "picker" in include:
        if not (access.principal.is_admin and may_connect):
            raise http_errors.ForbiddenError(
                "Selecting needs an admin key with write access", f"The key's role is {access.principal.role}."
            )
        answer.picker = await _picker_link(connectors, row, _validate_redirect_url(returnUrl))
    return answer


@router.patch("/ns/{namespace}/connectors/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def update(access: ConnectAccess, id: ResourcePath, body: bodies.ConnectorPatch) -> bodies.ConnectorResponse:
    """Change a connector's selection or document limit."""
    connectors, row = _require_connector(access, id)
    capabilities = connectors.capabilities(row.provider)
    selection = None if body.selection is None else _resolve_selection(row, capabilities, body.selection)

    def change(before: ConnectorChanged) -> ConnectorChanged:
        changes: dict[str, Any] = {}
        if selection is not None:
            changes["selection"] = selection
        if body.document_limit is not None and body.document_limit != before.document_limit:
            changes["document_limit"] = body.document_limit
        if not changes:
            return before
        return before.model_copy(update={**changes, "selection_revision": before.selection_revision + 1})

    after = await connectors.registry.modify(row.id, change)
    if after is None:
        raise connector_not_found(id)
    if after.selection_revision != row.selection_revision and after.status == "active":
        await connectors.registry.request_sync(after, "manual")
    return await present_connector(access.state, after)


@router.delete("/ns/{namespace}/connectors/{id:path}", responses=_ITEM_ERRORS)
async def delete(
    access: ConnectAccess,
    id: ResourcePath,
    deleteDocuments: Omittable[Annotated[bool, Query()]] = None,  # noqa: N803 - the contract's name
) -> bodies.ConnectorDeleted:
    """Remove a connector."""
    keeps = deleteDocuments is False
    if not keeps:
        require_scopes(access.principal, ["forget"])
    connectors, row = _require_connector(access, id)
    removed = await connectors.registry.modify(
        row.id, lambda connector: connector.model_copy(update={"status": "removed", "keep_documents": keeps})
    )
    if removed is not None:
        await connectors.registry.request_cleanup(removed)
    return bodies.ConnectorDeleted(id=id, deleted=True)


async def _create(access: NamespaceAccess, body: bodies.ConnectorBody) -> bodies.ConnectorCreated:
    """Create a connector; it is active at once, or after authorization."""
    connectors, capabilities = _require_capabilities(access.state, body.provider)
    fields = body.model_dump(by_alias=True, exclude_unset=True)
    redirect_url = _validate_redirect_url(fields.get("redirectUrl"))
    config, secrets = bodies.split_config({**_CONFIG_DEFAULTS.get(body.provider, {}), **fields.get("config", {})})
    now = access.state.clock.now()
    row = ConnectorChanged(
        id=resource_id("con", access.namespace),
        provider=body.provider,
        incarnation=(await get_or_create_namespace(access.state, access.namespace)).incarnations[0],
        status="pending" if capabilities.requires_authorization else "active",
        config=config or None,
        document_limit=fields.get("documentLimit", MAX_CONNECTOR_DOCUMENTS),
        authorization_expires_at=now + AUTHORIZATION_TTL if capabilities.requires_authorization else None,
        created_by_key=access.principal.id,
        created_at=now,
        updated_at=now,
    )
    if (existing := connectors.registry.catalog.connector(row.id)) is not None:
        return await _created_before(connectors, existing, row)
    if (fault := await connectors.find_fault(row, secrets)) is not None:
        raise http_errors.BadRequestError("The connector can't work like this", fault)
    if capabilities.requires_authorization:
        url = await connectors.create_authorization_link(row, redirect_url)
        await connectors.registry.save(row)
        return connector_created_response(row, url)
    await connectors.store_config_secrets(row.id, secrets)
    await connectors.registry.save(row)
    await connectors.registry.request_sync(row, "manual")
    return connector_created_response(row, None)


async def _created_before(
    connectors: ConnectorService, existing: ConnectorChanged, repeated: ConnectorChanged
) -> bodies.ConnectorCreated:
    """Answer a repeated request; BadRequestError if it asks for another connector with the same idempotency key."""
    if any(getattr(existing, name) != getattr(repeated, name) for name in ("provider", "incarnation", "config")):
        raise reused_key(f"Another request created connector {existing.id}")
    if existing.status == "pending":
        return connector_created_response(existing, await connectors.pending_authorization_link(existing))
    if not (await connectors.registry.load_runs(existing.id)).runs:
        # The process may have ended before it asked for a run.
        await connectors.registry.request_sync(existing, "manual")
    return connector_created_response(existing, None)


def readable_connectors(
    state: AppState, principal: Principal, provider: str | None, namespaces: Collection[str] = ()
) -> list[ConnectorChanged]:
    """Return the active connectors that a key may read, newest first: of these namespaces, if any are given."""
    if state.connectors is None:
        return []
    return [
        row
        for row in state.connectors.registry.catalog.connectors()
        if provider in {None, row.provider} and _is_listed(state, principal, row, namespaces)
    ]


async def _page(state: AppState, rows: list[ConnectorChanged], page: int, limit: int) -> bodies.ConnectorsResponse:
    shown = [await present_connector(state, row) for row in rows[(page - 1) * limit : page * limit]]
    return bodies.ConnectorsResponse(connectors=shown, pagination=paginate(page, limit, len(rows)))


async def find_active(state: AppState, principal: Principal, id: str) -> bodies.ConnectorResponse | None:
    """Return an active connector that a key may read, whatever its namespace."""
    row = None if state.connectors is None else state.connectors.registry.catalog.connector(id)
    if row is None or not _is_listed(state, principal, row):
        return None
    return await present_connector(state, row)


def _is_listed(state: AppState, principal: Principal, row: ConnectorChanged, namespaces: Collection[str] = ()) -> bool:
    owner = state.catalog.namespace_of(row.incarnation)
    if row.status != "active" or owner is None or (namespaces and owner.name not in namespaces):
        return False
    return principal.covers(owner.name)


async def start_run(connectors: ConnectorService, row: ConnectorChanged, *, full: bool = False) -> None:
    """Request a run; ConflictError while one is running."""
    async with connectors.registry.locks.acquire(f"connector-ask/{row.id}"):
        if (await connectors.registry.load_runs(row.id)).active_run is not None:
            raise http_errors.ConflictError("A sync is running already", f"connector: {row.id}")
        await connectors.registry.request_sync(row, "manual", full=full)


def _resolve_selection(
    row: ConnectorChanged, capabilities: ConnectorCapabilities | None, body: bodies.SelectionBody
) -> dict[str, tuple[SelectedItem, ...]]:
    """Validate a selection and add known names to its ids; the next run looks up the others."""
    selected: dict[str, list[str]] = body.model_dump(exclude_unset=True)
    kinds = () if capabilities is None else capabilities.selectable_kinds
    if unknown := sorted(selected.keys() - set(kinds)):
        hint = f"It can select {', '.join(kinds)}." if kinds else "It does not support a selection."
        raise http_errors.BadRequestError(f"{row.provider} has no {', '.join(unknown)} to select", hint)
    if not kinds:
        raise http_errors.BadRequestError(f"{row.provider} has nothing to select", "Leave selection out.")
    names = {choice.id: choice.name for choices in (row.selection or {}).values() for choice in choices}
    return {
        kind: tuple(SelectedItem(id=item_id, name=names.get(item_id, "")) for item_id in dict.fromkeys(ids))
        for kind, ids in selected.items()
    }


async def _picker_link(
    connectors: ConnectorService, row: ConnectorChanged, return_url: str | None
) -> bodies.PickerLink | None:
    capabilities = connectors.capabilities(row.provider)
    if capabilities is None or not capabilities.selectable_kinds or row.status != "active":
        return None
    url, expires_at = await connectors.create_picker_link(row, return_url)
    return bodies.PickerLink(url=url, expires_at=format_timestamp(expires_at))


async def present_connector(state: AppState, row: ConnectorChanged, *, syncs: bool = False) -> bodies.ConnectorResponse:
    connectors = require_connector_service(state)
    owner = state.catalog.namespace_of(row.incarnation)
    runs = await connectors.registry.load_runs(row.id)
    name = None if owner is None else owner.name
    return connector_response(row, name, connectors.capabilities(row.provider), runs, include_syncs=syncs)


def _require_capabilities(state: AppState, provider: str) -> tuple[ConnectorService, ConnectorCapabilities]:
    capabilities = None if state.connectors is None else state.connectors.capabilities(provider)
    if state.connectors is None or capabilities is None:
        raise http_errors.ServiceUnavailableError(
            "Not available on this deployment", f"Its operator has not set up {provider} (docs/guides/connectors.md)."
        )
    return state.connectors, capabilities


def _require_connector(access: NamespaceAccess, id: str) -> tuple[ConnectorService, ConnectorChanged]:
    connectors = access.state.connectors
    row = None if connectors is None else connectors.registry.find_active(id)
    owner = None if row is None else access.state.catalog.namespace_of(row.incarnation)
    if connectors is None or row is None or owner is None or owner.name != access.namespace:
        raise connector_not_found(id)
    return connectors, row


def require_connector_service(state: AppState) -> ConnectorService:
    if state.connectors is None:
        raise http_errors.ServiceUnavailableError("Not available on this deployment", "It has no connectors.")
    return state.connectors


def connector_not_found(id: str) -> http_errors.NotFoundError:
    return http_errors.NotFoundError("Connector not found", f"There is no connector {id[:100]!r}.")


def _validate_redirect_url(url: str | None) -> str | None:
    """Return a redirect URL if it is http(s); other schemes, such as javascript:, are refused."""
    if url is not None and urlsplit(url).scheme not in {"http", "https"}:
        raise http_errors.BadRequestError(
            "The redirect URL is not a web page", f"{url[:100]!r} starts with neither http: nor https:."
        )
    return url
