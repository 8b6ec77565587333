"""What an operator sees of connectors, and does to them."""

from datetime import timedelta
from typing import Literal

from api.ports import Connectors
from api.problems import ConflictError, NotFoundError, UnavailableError
from api.state import State
from pipeline.rows import SyncsRow
from schemas.base import timestamp
from schemas.events import ConnectorChanged, SyncReported
from schemas.http.connector_operations import (
    ConnectorState,
    ConnectorStatesAnswer,
    ResealedAnswer,
    RunProgress,
)


async def states(state: State) -> ConnectorStatesAnswer:
    """Every connector, newest first, pending ones and those that are being removed too."""
    connectors = state.connectors
    if connectors is None:
        return ConnectorStatesAnswer(connectors=[], handshakes={})
    return ConnectorStatesAnswer(
        connectors=[await _shown(connectors, row) for row in connectors.connections.catalog.connectors()],
        handshakes=dict(await connectors.handshakes()),
    )


async def sync(state: State, id: str, *, full: bool) -> ConnectorState:  # noqa: A002 - as in the interface
    """Ask for a run; ConflictError while there is one."""
    connectors, row = _found(state, id)
    if row.status != "active":
        raise ConflictError("It does not run", f"The connector is {row.status}.")
    async with connectors.connections.locks.hold(f"connector-ask/{row.id}"):
        if (await connectors.connections.runs(row.id)).running is not None:
            raise ConflictError("A sync is running already", f"connector: {row.id}")
        await connectors.connections.trigger(row, "manual", full=full)
    return await _shown(connectors, row)


async def schedule(state: State, id: str, hours: float | None) -> ConnectorState:  # noqa: A002
    """How often it runs by itself; None: as the deployment says."""
    connectors, row = _found(state, id)
    every = None if hours is None else timedelta(hours=hours).total_seconds()
    after = await connectors.connections.change(row.id, lambda one: one.model_copy(update={"every": every}))
    return await _shown(connectors, after or row)


async def reseal(state: State) -> ResealedAnswer:
    """Seal every credential with the newest key."""
    if state.connectors is None:
        raise UnavailableError("Not available on this deployment", "It has no connectors.")
    resealed, unreadable = await state.connectors.reseal()
    return ResealedAnswer(resealed=resealed, unreadable=unreadable)


def _found(state: State, id: str) -> tuple[Connectors, ConnectorChanged]:  # noqa: A002
    if state.connectors is None:
        raise UnavailableError("Not available on this deployment", "It has no connectors.")
    row = state.connectors.connections.found(id)
    if row is None:
        raise NotFoundError("Connector not found", f"There is no connector {id[:100]!r}.")
    return state.connectors, row


async def _shown(connectors: Connectors, row: ConnectorChanged) -> ConnectorState:
    runs = await connectors.connections.runs(row.id)
    owner = connectors.connections.catalog.owner(row.space)
    return ConnectorState(
        id=row.id,
        provider=row.provider,
        namespace=None if owner is None else owner.name,
        status="removed" if row.status == "gone" else row.status,
        account=row.account.name if row.account else None,
        documents=runs.runs[0].documents if runs.runs else 0,
        document_limit=row.document_limit,
        every_hours=None if row.every is None else row.every / 3600,
        last_successful_sync_at=None if runs.succeeded_at is None else timestamp(runs.succeeded_at),
        run=_newest(runs),
    )


def _newest(runs: SyncsRow) -> RunProgress | None:
    """The run under way, else the newest."""
    report = runs.running or (runs.runs[0] if runs.runs else None)
    if report is None:
        return None
    ended = report.completed_at
    return RunProgress(
        id=report.run,
        status=_status(report),
        trigger=report.trigger,
        full=report.full,
        processed=report.processed,
        failed=report.failed,
        left_out=report.left_out,
        error_code=report.error_code,
        error=report.error,
        started_at=timestamp(report.started_at),
        completed_at=None if ended is None else timestamp(ended),
    )


def _status(report: SyncReported) -> Literal["queued", "running", "completed", "failed"]:
    return "queued" if report.queued and report.status == "running" else report.status
