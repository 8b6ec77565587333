"""Response bodies of connectors and their runs."""

from pipeline.connector_registry import ConnectorCapabilities
from pipeline.rows import SyncRunsRow
from schemas.base import format_optional_timestamp, format_timestamp
from schemas.events import ConnectorChanged, SyncItemFailure, SyncReported
from schemas.http.v5 import connector_bodies as bodies
from schemas.limits import MAX_SYNCS_SHOWN


def connector_created_response(row: ConnectorChanged, url: str | None) -> bodies.ConnectorCreated:
    """Present a new connector, with the authorization link if it needs one."""
    authorization = None
    if url is not None and row.authorization_expires_at is not None:
        expires_at = format_timestamp(row.authorization_expires_at)
        authorization = bodies.Authorization(url=url, expires_at=expires_at)
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
    shown = {"syncs": [sync_run(run) for run in runs.runs[:MAX_SYNCS_SHOWN]]} if include_syncs else {}
    return bodies.ConnectorResponse(
        id=row.id,
        provider=row.provider,
        namespace=namespace,
        account=row.account.name if row.account else None,
        capabilities=bodies.Capabilities(
            selectable=bool(capabilities and capabilities.selectable_kinds),
            webhooks=bool(capabilities and capabilities.supports_webhooks),
        ),
        config=row.config,
        selection=None
        if row.selection is None
        else {
            kind: [bodies.SelectedItemResponse(id=choice.id, name=choice.name or choice.id) for choice in choices]
            for kind, choices in row.selection.items()
        },
        document_limit=row.document_limit,
        document_count=latest.documents if latest else 0,
        latest_run=sync_run_summary(latest) if latest else None,
        system=bodies.ConnectorSystem(
            status="pending_authorization" if row.status == "pending" else "active",
            created_at=format_timestamp(row.created_at),
            last_successful_sync_at=format_optional_timestamp(runs.succeeded_at),
        ),
        **shown,
    )


def sync_run_summary(report: SyncReported) -> bodies.SyncRunSummary:
    return bodies.SyncRunSummary(
        error_code=report.error_code, error=report.error, system=bodies.SyncRunSystem.model_validate(report)
    )


def sync_run(report: SyncReported) -> bodies.SyncRun:
    return bodies.SyncRun(
        **dict(sync_run_summary(report)),
        id=report.run_id,
        trigger=report.trigger,
        items_processed=report.processed,
        items_failed=report.failed,
        failures=[_item_failure(failure) for failure in report.failures],
    )


def _item_failure(failed: SyncItemFailure) -> bodies.SyncItemFailureResponse:
    return bodies.SyncItemFailureResponse(
        document_id=failed.document,
        title=failed.title,
        error_code=failed.code,
        error_message=failed.message,
        failed_at=format_timestamp(failed.at),
    )
