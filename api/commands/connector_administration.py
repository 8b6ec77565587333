"""Operator commands on connectors: status, sync, schedule and credential rotation."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from api.commands.connector_management import connector_not_found, require_connector_service, start_run
from api.dependencies.app_state import AppState
from api.dependencies.service_interfaces import ConnectorService
from api.errors.http_errors import BadRequestError, ConflictError, ServiceUnavailableError
from pipeline.rows import SyncRunsRow
from schemas.base import format_optional_timestamp
from schemas.events import ConnectorChanged, SyncReported
from schemas.http.extensions import connector_admin_bodies as bodies

_KEYS: Mapping[str, frozenset[str]] = {
    "s3": frozenset({"accessKeyId", "secretAccessKey"}),
    "granola": frozenset({"apiKey"}),
}
"""Names of the credentials of providers without authorization."""


async def connector_statuses(state: AppState) -> bodies.ConnectorStatusesResponse:
    """Return the status of every connector, newest first, including pending and removed connectors."""
    connectors = state.connectors
    if connectors is None:
        return bodies.ConnectorStatusesResponse(connectors=[], verification_tokens={})
    return bodies.ConnectorStatusesResponse(
        connectors=[await _connector_status(connectors, row) for row in connectors.registry.catalog.connectors()],
        verification_tokens=dict(await connectors.verification_tokens()),
    )


async def sync(state: AppState, id: str, *, full: bool) -> bodies.ConnectorStatus:  # noqa: A002 - as in the interface
    """Request a sync run; ConflictError while one is running."""
    connectors, row = _require_connector(state, id)
    if row.status != "active":
        raise ConflictError("The connector is not active", f"The connector is {row.status}.")
    await start_run(connectors, row, full=full)
    return await _connector_status(connectors, row)


async def check(state: AppState, id: str) -> bodies.ConnectorCheckResponse:  # noqa: A002 - as in the interface
    """Ask the provider whether a connector's credentials work now."""
    connectors, row = _require_connector(state, id)
    if row.status == "pending":
        return bodies.ConnectorCheckResponse(
            ok=False, message="Nobody has authorized it yet. Follow its authorization link."
        )
    fault = await connectors.find_fault(row)
    return bodies.ConnectorCheckResponse(ok=fault is None, message=fault)


async def reconnect(state: AppState, id: str, body: bodies.ReconnectBody) -> bodies.ReconnectResponse:  # noqa: A002
    """Give a connector new credentials, or a link to authorize it anew; its documents stay."""
    connectors, row = _require_connector(state, id)
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


async def set_schedule(state: AppState, id: str, hours: float | None) -> bodies.ConnectorStatus:  # noqa: A002
    """Set the interval between scheduled runs; None: the deployment's default."""
    connectors, row = _require_connector(state, id)
    seconds = None if hours is None else timedelta(hours=hours).total_seconds()
    after = await connectors.registry.modify(
        row.id, lambda connector: connector.model_copy(update={"sync_interval_seconds": seconds})
    )
    return await _connector_status(connectors, after or row)


async def set_options(state: AppState, id: str, body: bodies.ConnectorOptionsBody) -> bodies.ConnectorStatus:  # noqa: A002
    """Replace a GitHub connector's options, and list its repositories anew."""
    connectors, row = _require_connector(state, id)
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


async def rotate_credentials(state: AppState) -> bodies.CredentialRotationResponse:
    """Re-encrypt every credential, and the secrets of standing questions, with the newest secret key."""
    results = [await state.questions.rotate_keys()]
    if state.connectors is not None:
        results.append(await state.connectors.rotate_credentials())
    return bodies.CredentialRotationResponse(
        rotated=sum(count for count, _ in results), unreadable=[place for _, places in results for place in places]
    )


def _require_connector(state: AppState, id: str) -> tuple[ConnectorService, ConnectorChanged]:  # noqa: A002
    connectors = require_connector_service(state)
    row = connectors.registry.find_active(id)
    if row is None:
        raise connector_not_found(id)
    return connectors, row


async def _connector_status(connectors: ConnectorService, row: ConnectorChanged) -> bodies.ConnectorStatus:
    runs = await connectors.registry.load_runs(row.id)
    owner = connectors.registry.catalog.namespace_of(row.incarnation)
    return bodies.ConnectorStatus(
        id=row.id,
        provider=row.provider,
        namespace=None if owner is None else owner.name,
        status="removed" if row.status == "gone" else row.status,
        account=row.account.name if row.account else None,
        documents=runs.runs[0].documents if runs.runs else 0,
        document_limit=row.document_limit,
        sync_interval_hours=None if row.sync_interval_seconds is None else row.sync_interval_seconds / 3600,
        last_successful_sync_at=format_optional_timestamp(runs.succeeded_at),
        run=_latest_run(runs),
    )


def _latest_run(runs: SyncRunsRow) -> bodies.SyncRunProgress | None:
    report = runs.active_run or (runs.runs[0] if runs.runs else None)
    if report is None:
        return None
    same = {name: getattr(report, name) for name in bodies.SyncRunProgress.model_fields.keys() - {"id", "status"}}
    return bodies.SyncRunProgress(**same, id=report.run_id, status=_run_status(report))


def _run_status(report: SyncReported) -> Literal["queued", "running", "completed", "failed"]:
    return "queued" if report.queued and report.status == "running" else report.status
