"""The engine: takes up what was asked for, keeps to schedules, cleans up what was removed."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import takewhile
from typing import Final, cast

from connectors import subscriptions
from connectors.allowance import Allowance
from connectors.connecting import Connecting
from connectors.documents import deletion, document_id, document_prefix, pages
from connectors.errors import ConnectorError
from connectors.offers import reseal
from connectors.ports import Connection, Cursor, Kind, Known, Provider, Step
from connectors.runner import Runner
from pipeline.connections import Connections
from pipeline.ports import Blobs, Hold
from pipeline.rows import SyncsRow
from pipeline.stage import Record, Stage
from pipeline.store.connector_state import ConnectorState, ConnectorStates
from schemas.events import ConnectorChanged, ConnectorChoice, ConnectorTriggered, SyncReported
from schemas.topics import CONNECTORS_TRIGGERED, DOCUMENTS_SUBMITTED

TICK: Final = 30.0
RUNS: Final = 4
_AGAIN: Final = timedelta(minutes=15)
"""After a run that failed for a passing reason; doubled with each, up to the connector's schedule."""
_PASSING: Final = frozenset({"provider_unavailable", "rate_limited"})

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Engine:
    """`run` until cancelled. Any number of processes may: a connector's lock lets one at a time work."""

    connections: Connections
    connecting: Connecting
    states: ConnectorStates
    blobs: Blobs
    allowance: Allowance
    every: timedelta = timedelta(hours=4)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(RUNS))
    _working: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _again: set[str] = field(default_factory=set)
    _syncing: set[str] = field(default_factory=set)
    _tasks: asyncio.TaskGroup | None = None

    def stage(self) -> Stage[ConnectorTriggered]:
        """connectors.triggered → work. The runs table keeps what is to be done, so a restart forgets none."""

        async def handle(batch: Sequence[Record[ConnectorTriggered]]) -> None:
            for record in batch:
                await self.connections.show(record.event)
            await self.connections.syncs.durable()
            for connector in {record.event.connector for record in batch}:
                self.wake(connector)

        return Stage(name="connectors", source=CONNECTORS_TRIGGERED, handle=handle)

    async def run(self) -> None:
        """Look after all connectors until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                await reseal(self.connections, self.connecting)
                while True:
                    await self._look_after_all()
                    await asyncio.sleep(TICK)
            finally:
                self._tasks = None

    def wake(self, connector: str) -> None:
        """Let work on a connector begin; what is under way looks again before it ends."""
        task = self._working.get(connector)
        if task is not None:
            self._again.add(connector)
            row = self.connections.catalog.connector(connector)
            if connector in self._syncing and (row is None or not self.connections.is_alive(row)):
                task.cancel()
        elif self._tasks is not None:
            self._working[connector] = self._tasks.create_task(self._worked(connector))

    async def _worked(self, connector: str) -> None:
        try:
            await self._work(connector)
        except Exception:
            # Its runs stay asked for, so the next look begins again: one connector never ends the service.
            log.exception("The work on connector %s was interrupted.", connector)
        finally:
            del self._working[connector]
            if connector in self._again:
                self._again.discard(connector)
                self.wake(connector)

    async def _work(self, connector: str) -> None:
        while (row := self.connections.catalog.connector(connector)) is not None:
            alive = self.connections.is_alive(row)
            asked = (await self.connections.runs(connector)).running
            if alive and (asked is None or row.status != "active"):
                return
            if alive and asked is not None:
                await self._let_more_come(row, asked)
            async with self.connections.locks.hold(f"connector/{connector}") as hold:
                await self._turn(connector, hold)

    async def _turn(self, connector: str, hold: Hold) -> None:
        """What is to be done now that the connector is ours; another process may have done it meanwhile."""
        await self.connections.changes.current()
        row = self.connections.catalog.connector(connector)
        if row is None:
            return
        if not self.connections.is_alive(row):
            await self._clean_up(row)
            return
        asked = (await self.connections.runs(connector)).running
        if asked is not None and row.status == "active":
            self._syncing.add(connector)
            try:
                async with self.slots, self.states.state(connector) as state:
                    await self._sync(row, asked, state, hold)
            finally:
                self._syncing.discard(connector)

    async def _let_more_come(self, row: ConnectorChanged, asked: SyncReported) -> None:
        """Events come in swarms: one run is for all of them."""
        provider = self.connecting.providers.get(row.provider)
        if provider is not None and asked.trigger == "event" and asked.queued:
            left = asked.started_at + provider.debounce - self.connections.now()
            await asyncio.sleep(max(0.0, left.total_seconds()))

    async def _sync(
        self, row: ConnectorChanged, asked: SyncReported, state: ConnectorState, hold: Hold
    ) -> None:
        runner = Runner(
            publisher=self.connections.publisher,
            blobs=self.blobs,
            clock=self.connections.clock,
            report=self.connections.report,
            documents=self.connections.documents.ids,
            allowance=self.allowance,
        )
        asked = asked.model_copy(update={"queued": False})
        await runner.run(
            row,
            asked,
            provider=self.connecting.providers.get(row.provider) or Absent(),
            connect=partial(self._connected, row, told=asked.trigger == "event"),
            state=state,
            hold=hold,
        )

    async def _connected(self, row: ConnectorChanged, *, told: bool) -> Connection:
        """The connection of a run: events come from here on, and what was selected has its names."""
        connection = await self._named(row, await self.connecting.connection(row))
        try:
            await subscriptions.ensure(self.connecting, row, connection, self.connections.now())
        except ConnectorError as error:
            # Polling goes on without it.
            log.warning("Connector %s gets no events of its provider: %s", row.id, error)
        return replace(connection, told=told)

    async def _named(self, row: ConnectorChanged, connection: Connection) -> Connection:
        nameless = {
            kind: [choice.id for choice in choices if not choice.name]
            for kind, choices in (connection.selection or {}).items()
        }
        if not any(nameless.values()):
            return connection
        provider = self.connecting.provider(row.provider)
        names = {kind: await provider.names(connection, kind, ids) for kind, ids in nameless.items() if ids}
        named = await self.connections.change(row.id, partial(_named, names))
        return await self.connecting.connection(named or row)

    async def _clean_up(self, row: ConnectorChanged) -> None:
        """Nothing is left of a connector: not at the provider, not here, and of its documents as asked."""
        await self._disconnect(row)
        gone = self.connections.catalog.owner(row.space) is None
        if row.status == "removed" and not row.keep_documents and not gone:
            await self._delete_documents(row)
        await self.states.drop(row.id)
        await self.connections.forget_runs(row.id)
        await self.connections.change(row.id, lambda one: one.model_copy(update={"status": "gone"}))

    async def _delete_documents(self, row: ConnectorChanged) -> None:
        """Those that the state knows, which may not be shown yet, and those that it does not."""
        shown = await self.connections.documents.ids(row.space, document_prefix(row))
        await self._delete(row, shown)
        async with self.states.state(row.id) as state:
            async for rows in state.pages("item"):
                known = {document_id(row, one.id) for one in rows}
                await self._delete(row, [*known.difference(shown)])

    async def _delete(self, row: ConnectorChanged, documents: Sequence[str]) -> None:
        for page in pages(documents):
            events = [deletion(row, one, self.connections.now()) for one in page]
            entries = [(f"{event.space}/{event.document}", event) for event in events]
            await self.connections.publisher.publish(DOCUMENTS_SUBMITTED, entries)

    async def _disconnect(self, row: ConnectorChanged) -> None:
        try:
            connection = await self.connecting.connection(row)
            await subscriptions.end(self.connecting, row, connection)
            tokens = (await self.connecting.secrets.read(row.id)).get("tokens")
            if tokens is not None:
                await self.connecting.authority(row.provider).revoke(tokens)
        except ConnectorError as error:
            log.warning("Connector %s could not be taken back at its provider: %s", row.id, error)

    async def _look_after_all(self) -> None:
        """Give work to whoever has some, and ask for the runs that are due."""
        async with self.connections.locks.hold("connector-schedule"):
            rows = self.connections.catalog.connectors()
            runs = await self.connections.syncs.get([row.id for row in rows])
            for row in rows:
                known = runs.get(row.id)
                await self._look_after(row, known[0] if known else SyncsRow(row.id))

    async def _look_after(self, row: ConnectorChanged, runs: SyncsRow) -> None:
        if not self.connections.is_alive(row) or (row.status == "active" and runs.running is not None):
            self.wake(row.id)
        elif row.status == "active" and self.connections.now() >= self._due_at(row, runs):
            await self.connections.trigger(row, "cron")

    def _due_at(self, row: ConnectorChanged, runs: SyncsRow) -> datetime:
        """When the next run begins by itself."""
        if not runs.runs:
            return row.created_at
        newest = runs.runs[0]
        every = self._every(row)
        failed = list(takewhile(lambda one: one.error_code in _PASSING, runs.runs))
        wait = min(every, _AGAIN * 2 ** (len(failed) - 1)) if failed else every
        due = (newest.completed_at or newest.started_at) + wait if failed else newest.started_at + wait
        return due if newest.retry_at is None else max(due, newest.retry_at)

    def _every(self, row: ConnectorChanged) -> timedelta:
        """The connector's own schedule, else its provider's, else the operator's; not all at one moment."""
        if row.every is not None:
            return timedelta(seconds=row.every)
        provider = self.connecting.providers.get(row.provider)
        every = (provider.every if provider is not None else None) or self.every
        spread = int.from_bytes(blake2b(row.id.encode(), digest_size=2).digest()) / 65536
        return every * (1 + 0.05 * spread)


class Absent(Provider):
    """Stands for a provider that the operator took away: its runs fail and say so."""

    def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """Never reached: there is no connection."""
        raise NotImplementedError


def _named(names: Mapping[Kind, Mapping[str, str]], row: ConnectorChanged) -> ConnectorChanged:
    """The names that were found; the id for whatever is not there any more."""
    selection = {
        kind: tuple(
            choice if choice.name else ConnectorChoice(id=choice.id, name=found.get(choice.id, choice.id))
            for choice in choices
        )
        for kind, choices in (row.selection or {}).items()
        for found in [names.get(cast("Kind", kind), {})]
    }
    return row.model_copy(update={"selection": selection})
