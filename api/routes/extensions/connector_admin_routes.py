"""Connector administration for operators (extension of the contract)."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from fastapi import APIRouter

from api.dependencies.authentication import AuthenticatedCaller, ConnectingOperatorKey
from api.dependencies.path_and_query_parameters import ResourcePath
from api.dependencies.service_interfaces import ConnectorService
from api.errors.http_errors import BadRequestError, ConflictError, ServiceUnavailableError
from api.routes.contract_route import ContractRoute, error_responses
from api.routes.v5.connector_routes import connector_not_found, require_connector_service, start_run
from pipeline.rows import SyncRunsRow
from schemas.events import ConnectorChanged, SyncReported
from schemas.http.extensions import connector_admin_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/admin/connectors", tags=["Administration"])

_KEYS: Mapping[str, frozenset[str]] = {
    "s3": frozenset({"accessKeyId", "secretAccessKey"}),
    "granola": frozenset({"apiKey"}),
}
"""Names of the credentials of providers without authorization."""
_ERRORS = error_responses(400, 401, 403, 404, 500, 503)


@router.get("")
async def list_connector_statuses(caller: ConnectingOperatorKey) -> bodies.ConnectorStatusesResponse:
    """List every connector with its newest run."""
    connectors = caller.state.connectors
    if connectors is None:
        return bodies.ConnectorStatusesResponse(connectors=[], verification_tokens={})
    return bodies.ConnectorStatusesResponse(
        connectors=[await _connector_status(connectors, row) for row in connectors.registry.catalog.connectors()],
        verification_tokens=dict(await connectors.verification_tokens()),
    )


@router.post("/rotate-credentials", responses=_ERRORS)
async def rotate_credentials(caller: ConnectingOperatorKey) -> bodies.CredentialRotationResponse:
    """Re-encrypt every credential with the newest RECOLLECT_SECRET_KEY; older keys may be removed then."""
    results = [await caller.state.questions.rotate_keys()]
    if caller.state.connectors is not None:
        results.append(await caller.state.connectors.rotate_credentials())
    rotated, unreadable = sum(count for count, _ in results), [place for _, places in results for place in places]
    caller.add_audit_fields(rotated=rotated, unreadable=len(unreadable))
    return bodies.CredentialRotationResponse(rotated=rotated, unreadable=unreadable)


@router.post("/{id}/sync", responses=error_responses(400, 401, 403, 404, 409, 500, 503))
async def sync(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ConnectorSyncBody
) -> bodies.ConnectorStatus:
    """Start a sync run; `full`: list everything anew."""
    connectors, row = _require_connector(caller, id)
    if row.status != "active":
        raise ConflictError("The connector is not active", f"The connector is {row.status}.")
    await start_run(connectors, row, full=body.full)
    return await _connector_status(connectors, row)


@router.post("/{id}/check", responses=_ERRORS)
async def check(caller: ConnectingOperatorKey, id: ResourcePath) -> bodies.ConnectorCheckResponse:
    """Ask the provider whether the connector's credentials work."""
    connectors, row = _require_connector(caller, id)
    if row.status == "pending":
        return bodies.ConnectorCheckResponse(
            ok=False, message="Nobody has authorized it yet. Follow its authorization link."
        )
    fault = await connectors.find_fault(row)
    return bodies.ConnectorCheckResponse(ok=fault is None, message=fault)


@router.post("/{id}/reconnect", responses=_ERRORS)
async def reconnect(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ReconnectBody
) -> bodies.ReconnectResponse:
    """Give the connector new credentials or a new authorization link; its documents stay as they are."""
    connectors, row = _require_connector(caller, id)
    secrets = body.model_dump(by_alias=True, exclude_none=True)
    capabilities = connectors.capabilities(row.provider)
    if capabilities is None:
        raise ServiceUnavailableError(
            "Not available on this deployment", f"Its operator has not set up {row.provider}."
        )
    if capabilities.requires_authorization:
        if secrets:
            raise BadRequestError(f"{row.provider} has no keys", "Leave them out, and follow the link of the answer.")
        return bodies.ReconnectResponse(authorization_url=await connectors.create_authorization_link(row, None))
    expected = _KEYS.get(row.provider, frozenset())
    if secrets.keys() - ({"sessionToken"} if row.provider == "s3" else set()) != expected:
        hint = f"Send {' and '.join(sorted(expected))}." if expected else "It works without credentials."
        raise BadRequestError(f"These are not the credentials of {row.provider}", hint)
    if (fault := await connectors.find_fault(row, secrets)) is not None:
        raise BadRequestError("The new credentials don't work", fault)
    await connectors.store_config_secrets(row.id, secrets)
    await connectors.registry.request_sync(row, "manual")
    return bodies.ReconnectResponse(authorization_url=None)


@router.put("/{id}/schedule", responses=_ERRORS)
async def schedule(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ConnectorScheduleBody
) -> bodies.ConnectorStatus:
    """Set the sync interval."""
    connectors, row = _require_connector(caller, id)
    hours = body.sync_interval_hours
    seconds = None if hours is None else timedelta(hours=hours).total_seconds()
    after = await connectors.registry.modify(
        row.id, lambda connector: connector.model_copy(update={"sync_interval_seconds": seconds})
    )
    return await _connector_status(connectors, after or row)


@router.put("/{id}/options", responses=_ERRORS)
async def options(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ConnectorOptionsBody
) -> bodies.ConnectorStatus:
    """Set which files of its repositories a GitHub connector reads, and of which branch."""
    connectors, row = _require_connector(caller, id)
    if row.provider != "github":
        raise BadRequestError("Only GitHub connectors have options", f"This one is of {row.provider}.")
    config = body.model_dump(exclude_none=True)
    if body.paths is not None:
        config["paths"] = ", ".join(body.paths)

    def change(before: ConnectorChanged) -> ConnectorChanged:
        changes = {"config": config or None, "selection_revision": before.selection_revision + 1}
        return before.model_copy(update=changes)

    after = await connectors.registry.modify(row.id, change)
    if after is not None and after.status == "active":
        await connectors.registry.request_sync(after, "manual")
    return await _connector_status(connectors, after or row)


def _require_connector(caller: AuthenticatedCaller, id: str) -> tuple[ConnectorService, ConnectorChanged]:
    connectors = require_connector_service(caller.state)
    row = connectors.registry.find_active(id)
    if row is None:
        raise connector_not_found(id)
    return connectors, row


async def _connector_status(connectors: ConnectorService, row: ConnectorChanged) -> bodies.ConnectorStatus:
    runs = await connectors.registry.load_runs(row.id)
    owner = connectors.registry.catalog.namespace_of(row.incarnation)
    return bodies.ConnectorStatus.of(
        row,
        namespace=None if owner is None else owner.name,
        status="removed" if row.status == "gone" else row.status,
        account=row.account.name if row.account else None,
        documents=runs.runs[0].documents if runs.runs else 0,
        sync_interval_hours=None if row.sync_interval_seconds is None else row.sync_interval_seconds / 3600,
        last_successful_sync_at=runs.succeeded_at,
        run=_latest_run(runs),
    )


def _latest_run(runs: SyncRunsRow) -> bodies.SyncRunProgress | None:
    report = runs.active_run or (runs.runs[0] if runs.runs else None)
    if report is None:
        return None
    return bodies.SyncRunProgress.of(report, id=report.run_id, status=_run_status(report))


def _run_status(report: SyncReported) -> Literal["queued", "running", "completed", "failed"]:
    return "queued" if report.queued and report.status == "running" else report.status
