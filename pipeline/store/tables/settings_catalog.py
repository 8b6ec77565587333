"""Settings catalog: namespaces, organization, API keys and connectors, in memory.

One process keeps them in tables of its own. Several processes feed them from the log, without tables.
"""

import asyncio
from collections.abc import Callable
from dataclasses import fields, replace

from pipeline.rows import ApiKeyRow, NamespaceRow, OrganizationRow
from pipeline.store.single_process.exclusive_table import ExclusiveTable
from pipeline.store.tables.settings_tables import OrganizationState
from schemas.events import ConnectorChanged, KeyChanged, NamespaceChanged, OrganizationChanged, SettingsChanged


class SettingsCatalog:
    """`ports.ConnectorCatalog`, with API keys. An event older than the current state changes nothing."""

    def __init__(
        self,
        tables: tuple[
            ExclusiveTable[NamespaceRow],
            ExclusiveTable[OrganizationState],
            ExclusiveTable[ApiKeyRow],
            ExclusiveTable[ConnectorChanged],
        ]
        | None = None,
    ) -> None:
        """Start empty; without tables the caller must apply the settings in the log."""
        self._tables = tables
        self._namespaces: dict[str, NamespaceRow] = {}
        self._namespace_by_incarnation: dict[str, str] = {}
        self._organization = OrganizationState()
        self._keys: dict[str, ApiKeyRow] = {}
        self._connectors: dict[str, ConnectorChanged] = {}

    async def load(self) -> None:
        """Read the tables; once, before the first lookup."""
        if self._tables is None:
            return
        namespaces, organization, keys, connectors = self._tables
        for row in await namespaces.list_rows([""]):
            self._namespaces[row.name] = row
            self._namespace_by_incarnation.update(dict.fromkeys(row.incarnations, row.name))
        for state in await organization.list_rows([""]):
            self._organization = state
        self._keys = {row.id: row for row in await keys.list_rows([""])}
        self._connectors = {row.id: row for row in await connectors.list_rows([""])}

    def namespace(self, name: str) -> NamespaceRow | None:
        """Find a namespace; None unless it exists (has incarnations)."""
        row = self._namespaces.get(name)
        return row if row is not None and row.incarnations else None

    def epoch(self, name: str) -> int:
        """Current epoch of a namespace, or the one its next incarnation starts with; 0 for a new name."""
        row = self._namespaces.get(name)
        return 0 if row is None else row.epoch

    def namespace_of(self, incarnation: str) -> NamespaceRow | None:
        """Find the namespace that owns an incarnation now."""
        name = self._namespace_by_incarnation.get(incarnation)
        return None if name is None else self.namespace(name)

    def namespaces(self, is_readable: Callable[[str], bool] = lambda _: True) -> list[NamespaceRow]:
        """Return every existing namespace with a readable name, newest first."""
        rows = [row for row in self._namespaces.values() if row.incarnations and is_readable(row.name)]
        return sorted(rows, key=lambda row: (-row.created_at.timestamp(), row.name))

    def restricted_to(self, holds: Callable[[str], bool]) -> "SettingsCatalog":
        """Copy the namespaces as they are now, with only the held incarnations, to fill a part of the tables."""
        part = SettingsCatalog()
        for row in self._namespaces.values():
            if held := tuple(filter(holds, row.incarnations)):
                part._namespaces[row.name] = replace(row, incarnations=held)
                part._namespace_by_incarnation.update(dict.fromkeys(held, row.name))
        return part

    def organization(self) -> OrganizationRow:
        return self._organization.row

    @property
    def key_count(self) -> int:
        """Number of API keys, revoked ones included."""
        return len(self._keys)

    def keys(self) -> list[ApiKeyRow]:
        """Return every API key, revoked ones included, oldest first."""
        return sorted(self._keys.values(), key=lambda row: (row.created_at, row.id))

    def key(self, id: str) -> ApiKeyRow | None:  # noqa: A002 - a key's own word
        """Find an API key by its id, revoked ones included."""
        return self._keys.get(id)

    def connectors(self) -> list[ConnectorChanged]:
        """Return every connector, pending and removed ones included, newest first."""
        return sorted(self._connectors.values(), key=lambda row: (row.created_at, row.id), reverse=True)

    def connector(self, id: str) -> ConnectorChanged | None:  # noqa: A002 - a connector's own word
        """Find a connector by its id."""
        return self._connectors.get(id)

    def apply(self, event: SettingsChanged) -> None:
        """Apply a change at once; it is flushed in the background."""
        match event.change:
            case NamespaceChanged() as change:
                self._apply_namespace(change)
            case OrganizationChanged() as change:
                self._apply_organization(change)
            case KeyChanged() as change:
                self._apply_key(change)
            case ConnectorChanged() as change:
                self._apply_connector(change)

    async def wait_until_durable(self) -> None:
        await asyncio.gather(*(table.wait_until_durable() for table in self._tables or ()))

    def _apply_namespace(self, change: NamespaceChanged) -> None:
        row = NamespaceRow(**{column.name: getattr(change, column.name) for column in fields(NamespaceRow)})
        old = self._namespaces.get(row.name)
        if old is not None and (old.epoch, old.updated_at) > (row.epoch, row.updated_at):
            return
        for incarnation in old.incarnations if old is not None else ():
            if self._namespace_by_incarnation.get(incarnation) == row.name:
                del self._namespace_by_incarnation[incarnation]
        self._namespace_by_incarnation.update(dict.fromkeys(row.incarnations, row.name))
        self._namespaces[row.name] = row
        if self._tables is not None:
            self._tables[0].put({row.name: [row]}, {row.name: [] if old is None else [old]})

    def _apply_organization(self, change: OrganizationChanged) -> None:
        old = self._organization
        if old.updated_at > change.updated_at:
            return
        row = OrganizationRow(context=change.context, buckets=change.buckets)
        self._organization = OrganizationState(row, change.updated_at)
        if self._tables is not None:
            self._tables[1].put({"organization": [self._organization]}, {"organization": [old]})

    def _apply_key(self, change: KeyChanged) -> None:
        old = self._keys.get(change.id)
        if old is not None and old.revoked_at is not None and change.revoked_at is None:
            return  # an older event that is read again: a revoked key stays revoked
        row = ApiKeyRow(**{column.name: getattr(change, column.name) for column in fields(ApiKeyRow)})
        if (
            old is not None
            and old.revoked_at is None
            and row.revoked_at is None
            and old.last_changed_at > row.last_changed_at
        ):
            return
        self._keys[row.id] = row
        if self._tables is not None:
            self._tables[2].put({row.id: [row]}, {row.id: [] if old is None else [old]})

    def _apply_connector(self, change: ConnectorChanged) -> None:
        old = self._connectors.get(change.id)
        if old is not None and old.updated_at > change.updated_at:
            return
        before = [] if old is None else [old]
        if change.status != "gone":
            self._connectors[change.id] = change
            if self._tables is not None:
                self._tables[3].put({change.id: [change]}, {change.id: before})
        elif old is not None:
            del self._connectors[change.id]
            if self._tables is not None:
                self._tables[3].put({change.id: []}, {change.id: before})
