"""Namespaces, organization, keys and connectors, in memory, read without waiting.

One process flushes them like every table. Several feed them from the log, and keep no tables of them.
"""

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import fields

from pipeline.rows import KeyRow, NamespaceRow, OrganizationRow
from pipeline.store.settings_tables import OrganizationState
from pipeline.store.table import Table
from schemas.events import (
    ConnectorChanged,
    KeyChanged,
    NamespaceChanged,
    OrganizationChanged,
    SettingsChanged,
)


class Catalog:
    """`ports.Catalog`, and what the API asks. An event older than what is known changes nothing."""

    def __init__(
        self,
        tables: tuple[Table[NamespaceRow], Table[OrganizationState], Table[KeyRow], Table[ConnectorChanged]]
        | None = None,
    ) -> None:
        """Without tables it begins empty: whoever opens it applies the settings in the log."""
        self._tables = tables
        self._names: dict[str, NamespaceRow] = {}
        self._owners: dict[str, str] = {}
        self._organization = OrganizationState()
        self._keys: dict[str, KeyRow] = {}
        self._connectors: dict[str, ConnectorChanged] = {}

    async def load(self) -> None:
        """Read everything; once, before the first question."""
        if self._tables is None:
            return
        namespaces, organization, keys, connectors = self._tables
        for row in await namespaces.in_spaces([""]):
            self._names[row.name] = row
            self._owners.update(dict.fromkeys(row.spaces, row.name))
        for state in await organization.in_spaces([""]):
            self._organization = state
        self._keys = {row.id: row for row in await keys.in_spaces([""])}
        self._connectors = {row.id: row for row in await connectors.in_spaces([""])}

    def namespace(self, name: str) -> NamespaceRow | None:
        """The namespace if it exists (has spaces)."""
        row = self._names.get(name)
        return row if row is not None and row.spaces else None

    def generation(self, name: str) -> int:
        """The generation that a namespace's next life would have had so far: 0 for a name never seen."""
        row = self._names.get(name)
        return 0 if row is None else row.generation

    def owner(self, space: str) -> NamespaceRow | None:
        """The namespace that owns a space now."""
        name = self._owners.get(space)
        return None if name is None else self.namespace(name)

    def namespaces(self, readable: Callable[[str], bool] = lambda _: True) -> list[NamespaceRow]:
        """Every namespace that exists and whose name is readable, newest first."""
        rows = [row for row in self._names.values() if row.spaces and readable(row.name)]
        return sorted(rows, key=lambda row: (-row.created_at.timestamp(), row.name))

    def organization(self) -> OrganizationRow:
        """The organization's settings."""
        return self._organization.row

    def keys(self) -> list[KeyRow]:
        """Every key, revoked ones included, oldest first."""
        return sorted(self._keys.values(), key=lambda row: (row.created_at, row.id))

    def key(self, id: str) -> KeyRow | None:  # noqa: A002 - a key's own word
        """A key by its id, revoked ones included."""
        return self._keys.get(id)

    def key_by_hash(self, sha256: str) -> KeyRow | None:
        """The key whose secret has this SHA-256 (hex). Takes as long whether and where it is found."""
        found = None
        for row in self._keys.values():
            if hmac.compare_digest(row.sha256.encode(), sha256.encode()):
                found = row
        return found

    def connectors(self) -> list[ConnectorChanged]:
        """Every connector, also pending ones and those that are being removed; newest first."""
        return sorted(self._connectors.values(), key=lambda row: (row.created_at, row.id), reverse=True)

    def connector(self, id: str) -> ConnectorChanged | None:  # noqa: A002 - a connector's own word
        """A connector by its id."""
        return self._connectors.get(id)

    def apply(self, event: SettingsChanged) -> None:
        """Take a change over at once; it is flushed in the background."""
        match event.change:
            case NamespaceChanged() as change:
                self._apply_namespace(change)
            case OrganizationChanged() as change:
                self._apply_organization(change)
            case KeyChanged() as change:
                self._apply_key(change)
            case ConnectorChanged() as change:
                self._apply_connector(change)

    async def durable(self) -> None:
        """Wait until every change so far is on disk."""
        await asyncio.gather(*(table.durable() for table in self._tables or ()))

    def _apply_namespace(self, change: NamespaceChanged) -> None:
        row = NamespaceRow(**{one.name: getattr(change, one.name) for one in fields(NamespaceRow)})
        old = self._names.get(row.name)
        if old is not None and (old.generation, old.updated_at) > (row.generation, row.updated_at):
            return
        for space in old.spaces if old is not None else ():
            if self._owners.get(space) == row.name:
                del self._owners[space]
        self._owners.update(dict.fromkeys(row.spaces, row.name))
        self._names[row.name] = row
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
            return  # an older event, read again: a revoked key stays revoked
        row = KeyRow(**{one.name: getattr(change, one.name) for one in fields(KeyRow)})
        if old is not None and old.revoked_at is None and row.revoked_at is None and old.as_of > row.as_of:
            return
        self._keys[row.id] = row
        if self._tables is not None:
            self._tables[2].put({row.id: [row]}, {row.id: [] if old is None else [old]})

    def _apply_connector(self, change: ConnectorChanged) -> None:
        old = self._connectors.get(change.id)
        if old is not None and old.updated_at > change.updated_at:
            return
        held = [] if old is None else [old]
        if change.status != "gone":
            self._connectors[change.id] = change
            if self._tables is not None:
                self._tables[3].put({change.id: [change]}, {change.id: held})
        elif old is not None:
            del self._connectors[change.id]
            if self._tables is not None:
                self._tables[3].put({change.id: []}, {change.id: held})
