"""Connectors and their runs as the answers of the interface show them."""

from api.ports import Offer
from pipeline.rows import SyncsRow
from schemas.base import timestamp
from schemas.events import ConnectorChanged, SyncFailed, SyncReported
from schemas.http.connectors import (
    Authorization,
    Capabilities,
    Connector,
    ConnectorCreated,
    ConnectorSystem,
    Run,
    RunSystem,
    Selected,
    Sync,
    SyncFailure,
)
from schemas.limits import SYNCS


def created(row: ConnectorChanged, url: str | None) -> ConnectorCreated:
    """What was created, and where to authorize it."""
    until = row.authorize_until
    told = None if url is None or until is None else Authorization(url=url, expires_at=timestamp(until))
    return ConnectorCreated(id=row.id, authorization=told)


def connector(
    row: ConnectorChanged, namespace: str | None, offer: Offer | None, runs: SyncsRow, *, syncs: bool
) -> Connector:
    """A connector; with `syncs` its newest runs too."""
    latest = runs.runs[0] if runs.runs else None
    succeeded = runs.succeeded_at
    shown = {"syncs": [sync(run) for run in runs.runs[:SYNCS]]} if syncs else {}
    return Connector(
        id=row.id,
        provider=row.provider,
        namespace=namespace,
        account=row.account.name if row.account else None,
        capabilities=Capabilities(
            selectable=bool(offer and offer.kinds), webhooks=bool(offer and offer.webhooks)
        ),
        config=row.config,
        selection=None
        if row.selection is None
        else {
            kind: [Selected(id=choice.id, name=choice.name or choice.id) for choice in choices]
            for kind, choices in row.selection.items()
        },
        document_limit=row.document_limit,
        document_count=latest.documents if latest else 0,
        latest_run=run(latest) if latest else None,
        system=ConnectorSystem(
            status="pending_authorization" if row.status == "pending" else "active",
            created_at=timestamp(row.created_at),
            last_successful_sync_at=None if succeeded is None else timestamp(succeeded),
        ),
        **shown,
    )


def run(report: SyncReported) -> Run:
    """A run in short."""
    return Run(error_code=report.error_code, error=report.error, system=_system(report))


def sync(report: SyncReported) -> Sync:
    """A run in full."""
    return Sync(
        error_code=report.error_code,
        error=report.error,
        system=_system(report),
        id=report.run,
        trigger=report.trigger,
        items_processed=report.processed,
        items_failed=report.failed,
        failures=[_failure(one) for one in report.failures],
    )


def _system(report: SyncReported) -> RunSystem:
    ended = report.completed_at
    return RunSystem(
        status=report.status,
        started_at=timestamp(report.started_at),
        completed_at=None if ended is None else timestamp(ended),
    )


def _failure(failed: SyncFailed) -> SyncFailure:
    return SyncFailure(
        document_id=failed.document,
        title=failed.title,
        error_code=failed.code,
        error_message=failed.message,
        failed_at=timestamp(failed.at),
    )
