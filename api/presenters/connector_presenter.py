"""Response bodies of connectors and their runs."""

from pipeline.connector_registry import ConnectorCapabilities
from pipeline.rows import SyncRunsRow
from schemas.events import ConnectorChanged, SyncItemFailure, SyncReported
from schemas.http.v5 import connector_bodies as bodies
from schemas.limits import MAX_SYNCS_SHOWN


def connector_created_response(row: ConnectorChanged, url: str | None) -> bodies.ConnectorCreated:
    """Present a new connector, with the authorization link if it needs one."""
    authorization = None
    if url is not None and row.authorization_expires_at is not None:
        authorization = bodies.Authorization.of(row, url=url, expires_at=row.authorization_expires_at)
    return bodies.ConnectorCreated(id=row.id, authorization=authorization)


def connector_response(
    row: ConnectorChanged,
    namespace: str | None,
    capabilities: ConnectorCapabilities | None,
    runs: SyncRunsRow,
    *,
    include_syncs: bool,
) -> bodies.ConnectorResponse:
    """Present a connector; `include_syncs`: with its newest runs."""
    latest = runs.runs[0] if runs.runs else None
    shown = {"syncs": [_sync_run(run) for run in runs.runs[:MAX_SYNCS_SHOWN]]} if include_syncs else {}
    selection = {
        kind: [bodies.SelectedItemResponse(id=choice.id, name=choice.name or choice.id) for choice in choices]
        for kind, choices in (row.selection or {}).items()
    }
    return bodies.ConnectorResponse.of(
        row,
        namespace=namespace,
        account=row.account.name if row.account else None,
        capabilities=bodies.Capabilities(
            selectable=bool(capabilities and capabilities.selectable_kinds),
            webhooks=bool(capabilities and capabilities.supports_webhooks),
        ),
        selection=None if row.selection is None else selection,
        document_count=latest.documents if latest else 0,
        latest_run=latest and bodies.SyncRunSummary.of(latest, system=bodies.SyncRunSystem.of(latest)),
        system=bodies.ConnectorSystem.of(
            row,
            status="pending_authorization" if row.status == "pending" else "active",
            last_successful_sync_at=runs.succeeded_at,
        ),
        **shown,
    )


def _sync_run(report: SyncReported) -> bodies.SyncRun:
    return bodies.SyncRun.of(
        report,
        id=report.run_id,
        items_processed=report.processed,
        items_failed=report.failed,
        failures=[_item_failure(failure) for failure in report.failures],
        system=bodies.SyncRunSystem.of(report),
    )


def _item_failure(failed: SyncItemFailure) -> bodies.SyncItemFailureResponse:
    return bodies.SyncItemFailureResponse.of(
        failed,
        document_id=failed.document,
        error_code=failed.code,
        error_message=failed.message,
        failed_at=failed.at,
    )
