"""Scheduler of connector runs: requested runs, periodic runs, and cleanup of removed connectors."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import takewhile
from typing import Final, cast

from connectors.accounts import webhook_subscriptions
from connectors.accounts.connection_factory import ConnectionFactory
from connectors.errors import ConnectorError
from connectors.provider_interface import Connection, Provider, SelectionKind
from connectors.sync.item_submission import build_deletion, document_id, document_id_prefix, paginate
from connectors.sync.sync_runner import DocumentQuota, SyncRunner
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from pipeline.connector_registry import ConnectorRegistry
from pipeline.ports import Blobs, Lease
from pipeline.rows import SyncRunsRow
from pipeline.runtime.backoff import exponential_backoff
from pipeline.stage import Record, Stage
from pipeline.store.tables.connector_state_table import ConnectorStateStore, ConnectorStateTable
from schemas.events import ConnectorChanged, ConnectorTriggered, SelectedItem, SyncReported
from schemas.topics import CONNECTORS_TRIGGERED, DOCUMENTS_SUBMITTED

SCHEDULER_TICK_SECONDS: Final = 30.0
MAX_CONCURRENT_RUNS: Final = 4
_RETRY_DELAY: Final = timedelta(minutes=15)
"""Delay after a transient failure; doubled with each further one, up to the connector's interval."""
_TRANSIENT_ERROR_CODES: Final = frozenset({"provider_unavailable", "rate_limited"})

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class SyncScheduler:
    """Runs connectors; any number of processes may, because a lock per connector admits one at a time."""

    registry: ConnectorRegistry
    connection_factory: ConnectionFactory
    states: ConnectorStateStore
    blobs: Blobs
    quota: DocumentQuota
    sync_interval: timedelta = timedelta(hours=4)
    run_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_RUNS))
    _active_tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _rerun_requested: set[str] = field(default_factory=set)
    _syncing: set[str] = field(default_factory=set)
    _task_group: asyncio.TaskGroup | None = None

    def stage(self) -> Stage[ConnectorTriggered]:
        """Return the stage that consumes run requests; the runs table makes them survive a restart."""

        async def handle(batch: Sequence[Record[ConnectorTriggered]]) -> None:
            for record in batch:
                await self.registry.apply_request(record.event)
            await self.registry.sync_runs.wait_until_durable()
            for connector in {record.event.connector for record in batch}:
                self.wake(connector)

        return Stage(name="connectors", source=CONNECTORS_TRIGGERED, handle=handle)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._task_group = tasks
            try:
                await self.connection_factory.secret_store.rotate_keys(
                    [row.id for row in self.registry.catalog.connectors()]
                )
                while True:
                    await self._schedule_all()
                    await asyncio.sleep(SCHEDULER_TICK_SECONDS)
            finally:
                self._task_group = None

    def wake(self, connector: str) -> None:
        """Start work on a connector; work in progress checks again before it ends."""
        task = self._active_tasks.get(connector)
        if task is not None:
            self._rerun_requested.add(connector)
            row = self.registry.catalog.connector(connector)
            if connector in self._syncing and (row is None or not self.registry.is_active(row)):
                task.cancel()
        elif self._task_group is not None:
            self._active_tasks[connector] = self._task_group.create_task(self._run_until_idle(connector))

    async def _run_until_idle(self, connector: str) -> None:
        try:
            await self._process_connector(connector)
        except Exception:
            # Its runs stay requested, so the next tick retries: one connector never stops the service.
            log.exception("Work on connector %s failed; the next tick retries it.", connector)
        finally:
            del self._active_tasks[connector]
            if connector in self._rerun_requested:
                self._rerun_requested.discard(connector)
                self.wake(connector)

    async def _process_connector(self, connector: str) -> None:
        while (row := self.registry.catalog.connector(connector)) is not None:
            active = self.registry.is_active(row)
            requested_run = (await self.registry.load_runs(connector)).active_run
            if active and (requested_run is None or row.status != "active"):
                return
            if active and requested_run is not None:
                await self._debounce_events(row, requested_run)
            async with self.registry.locks.acquire(f"connector/{connector}") as lease:
                await self._process_with_lease(connector, lease)

    async def _process_with_lease(self, connector: str, lease: Lease) -> None:
        """Clean up or run the connector, unless another process did so before the lock was acquired."""
        await self.registry.settings_lock.catch_up()
        row = self.registry.catalog.connector(connector)
        if row is None:
            return
        if not self.registry.is_active(row):
            await self._clean_up(row)
            return
        requested_run = (await self.registry.load_runs(connector)).active_run
        if requested_run is not None and row.status == "active":
            self._syncing.add(connector)
            try:
                async with self.run_slots, self.states.open_state(connector) as state:
                    await self._run_sync(row, requested_run, state, lease)
            finally:
                self._syncing.discard(connector)

    async def _debounce_events(self, row: ConnectorChanged, pending_run: SyncReported) -> None:
        """Wait so that one run covers all events of a burst."""
        provider = self.connection_factory.providers.get(row.provider)
        if provider is not None and pending_run.trigger == "event" and pending_run.queued:
            remaining = pending_run.started_at + provider.event_debounce - self.registry.now()
            await asyncio.sleep(max(0.0, remaining.total_seconds()))

    async def _run_sync(
        self, row: ConnectorChanged, pending_run: SyncReported, state: ConnectorStateTable, lease: Lease
    ) -> None:
        runner = SyncRunner(
            publisher=self.registry.publisher,
            blobs=self.blobs,
            clock=self.registry.clock,
            report=self.registry.report_run,
            document_ids=self.registry.document_ids.ids_with_prefix,
            quota=self.quota,
            row=row,
            requested_run=pending_run.model_copy(update={"queued": False}),
            provider=self.connection_factory.providers.get(row.provider) or MissingProvider(),
            state=state,
            lease=lease,
        )
        await runner.run(partial(self._open_connection, row, triggered_by_event=pending_run.trigger == "event"))

    async def _open_connection(self, row: ConnectorChanged, *, triggered_by_event: bool) -> Connection:
        """Open a run's connection, with a current webhook subscription and names for the selection."""
        connection = await self._resolve_selection_names(row, await self.connection_factory.connect(row))
        try:
            await webhook_subscriptions.ensure_subscribed(self.connection_factory, row, connection, self.registry.now())
        except ConnectorError as error:
            # Periodic runs continue without events.
            log.warning("Connector %s could not subscribe to events of its provider: %s", row.id, error)
        return replace(connection, triggered_by_event=triggered_by_event)

    async def _resolve_selection_names(self, row: ConnectorChanged, connection: Connection) -> Connection:
        nameless = {
            kind: [choice.id for choice in choices if not choice.name]
            for kind, choices in (connection.selection or {}).items()
        }
        if not any(nameless.values()):
            return connection
        provider = self.connection_factory.provider_named(row.provider)
        names = {
            kind: await provider.resolve_names(
                connection, cast("SelectionKind", kind), ids
            )  # the interface has no other
            for kind, ids in nameless.items()
            if ids
        }
        named = await self.registry.modify(row.id, partial(_with_selection_names, names))
        return await self.connection_factory.connect(named or row)

    async def _clean_up(self, row: ConnectorChanged) -> None:
        """Remove a connector's access, state and runs, and its documents unless they are to be kept."""
        await self._revoke_access(row)
        gone = self.registry.catalog.namespace_of(row.incarnation) is None
        if row.status == "removed" and not row.keep_documents and not gone:
            await self._delete_documents(row)
        await self.states.delete_state(row.id)
        await self.registry.delete_runs(row.id)
        # Its last setting stays in the log for ever: without addresses, the account's name and names of folders.
        end = {"status": "gone", "config": None, "selection": None, "account": None}
        await self.registry.modify(row.id, lambda current: current.model_copy(update=end))

    async def _delete_documents(self, row: ConnectorChanged) -> None:
        """Delete indexed documents and those of the state, which may not be indexed yet."""
        shown = await self.registry.document_ids.ids_with_prefix(row.incarnation, document_id_prefix(row))
        await self._publish_deletions(row, shown)
        async with self.states.open_state(row.id) as state:
            async for rows in state.iterate_pages("item"):
                document_ids = {document_id(row, item.id) for item in rows}
                await self._publish_deletions(row, [*document_ids.difference(shown)])

    async def _publish_deletions(self, row: ConnectorChanged, document_ids: Sequence[str]) -> None:
        for page in paginate(document_ids):
            events = [build_deletion(row, document, self.registry.now()) for document in page]
            entries = [(f"{event.incarnation}/{event.document}", event) for event in events]
            await self.registry.publisher.publish(DOCUMENTS_SUBMITTED, entries)

    async def _revoke_access(self, row: ConnectorChanged) -> None:
        try:
            connection = await self.connection_factory.connect(row)
            await webhook_subscriptions.unsubscribe(self.connection_factory, row, connection)
            tokens = (await self.connection_factory.secret_store.read(row.id)).get("tokens")
            if tokens is not None:
                await self.connection_factory.authorization_server(row.provider).revoke(tokens)
        except ConnectorError as error:
            log.warning("Access of connector %s could not be revoked at its provider: %s", row.id, error)

    async def _schedule_all(self) -> None:
        """Wake connectors with pending work and request the periodic runs that are due."""
        async with self.registry.locks.acquire("connector-schedule"):
            rows = self.registry.catalog.connectors()
            runs = await self.registry.sync_runs.get([row.id for row in rows])
            for row in rows:
                stored = runs.get(row.id)
                await self._schedule_connector(row, stored[0] if stored else SyncRunsRow(row.id))

    async def _schedule_connector(self, row: ConnectorChanged, runs: SyncRunsRow) -> None:
        if not self.registry.is_active(row) or (row.status == "active" and runs.active_run is not None):
            self.wake(row.id)
        elif row.status == "active" and self.registry.now() >= self._next_run_at(row, runs):
            await self.registry.request_sync(row, "cron")

    def _next_run_at(self, row: ConnectorChanged, runs: SyncRunsRow) -> datetime:
        """Return the time of the next periodic run, delayed after transient failures."""
        if not runs.runs:
            return row.created_at
        newest = runs.runs[0]
        interval = self._sync_interval_of(row)
        failed = list(takewhile(lambda run: run.error_code in _TRANSIENT_ERROR_CODES, runs.runs))
        if not failed:
            due = newest.started_at + interval
        else:
            delay = exponential_backoff(_RETRY_DELAY.total_seconds(), len(failed), interval.total_seconds())
            due = (newest.completed_at or newest.started_at) + timedelta(seconds=delay)
        return due if newest.retry_at is None else max(due, newest.retry_at)

    def _sync_interval_of(self, row: ConnectorChanged) -> timedelta:
        """Return the connector's interval, else its provider's, else the operator's with a spread of 5 %."""
        if row.sync_interval_seconds is not None:
            return timedelta(seconds=row.sync_interval_seconds)
        provider = self.connection_factory.providers.get(row.provider)
        interval = (provider.sync_interval if provider is not None else None) or self.sync_interval
        spread = int.from_bytes(blake2b(row.id.encode(), digest_size=2).digest()) / 65536
        return interval * (1 + 0.05 * spread)


class MissingProvider(Provider):
    """Placeholder for a provider that the operator removed; opening its connection fails."""

    def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        """Raise NotImplementedError; never called, because connecting fails before."""
        raise NotImplementedError


def _with_selection_names(names: Mapping[str, Mapping[str, str]], row: ConnectorChanged) -> ConnectorChanged:
    """Fill in names of the selection; a resource that no longer exists is named by its id."""
    selection = {
        kind: tuple(
            choice if choice.name else SelectedItem(id=choice.id, name=found.get(choice.id, choice.id))
            for choice in choices
        )
        for kind, choices in (row.selection or {}).items()
        for found in [names.get(kind, {})]
    }
    return row.model_copy(update={"selection": selection})
