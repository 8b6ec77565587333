"""Settings catalog: namespaces, organization, API keys and connectors, in a SQLite file that the log fills.

Namespaces grow without bound, so they are looked up in the file; those in use are also held in memory. The rest is held
in memory whole. The file has the log's positions up to which it was filled: a start reads only what came after them.
"""

import asyncio
import json
import logging
import os
import sqlite3
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from filelock import lock_descriptor

from pipeline.rows import NamespaceRow, OrganizationRow
from pipeline.runtime.sqlite_connection import connect, open_or_replace, transaction
from pipeline.stage import Record
from pipeline.store.lancedb.lance_table import run_to_completion
from schemas.events import ConnectorChanged, KeyChanged, NamespaceChanged, OrganizationChanged, SettingsChanged
from schemas.ids import first_namespace

NAMESPACES_IN_MEMORY = 100_000
"""Default bound of the namespaces held in memory; those not asked for longest go first. One takes about 0.6 KB."""
_RETRY_SECONDS = 1.0
_PAGE = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPTIONAL = ("supporting_context", "description", "buckets", "recall_log")
"""Settings of a namespace that most do not have."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS namespaces(
    name TEXT PRIMARY KEY, epoch INTEGER NOT NULL, incarnations TEXT, created INTEGER NOT NULL,
    updated INTEGER NOT NULL, settings TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS newest ON namespaces(created, name) WHERE incarnations IS NOT NULL;
CREATE TABLE IF NOT EXISTS moved(incarnation TEXT PRIMARY KEY, namespace TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS others(key TEXT PRIMARY KEY, event TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS positions(partition INTEGER PRIMARY KEY, next INTEGER NOT NULL, time REAL NOT NULL);
CREATE TABLE IF NOT EXISTS counted(only INTEGER PRIMARY KEY, existing INTEGER NOT NULL);
INSERT OR IGNORE INTO counted VALUES (1, 0);
"""
_COLUMNS = "name, epoch, incarnations, created, updated, settings"
_EXISTING = "incarnations IS NOT NULL"
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Changes:
    """Changes of the file; None removes a key."""

    namespaces: dict[str, NamespaceRow] = field(default_factory=dict)
    created: int = 0
    """Namespaces that exist and did not before, less those that ended."""
    moved: dict[str, str | None] = field(default_factory=dict)
    others: dict[str, str | None] = field(default_factory=dict)


class SettingsCatalog:
    """`ports.ConnectorCatalog`, with API keys. The log's order decides, not the clocks of those who wrote to it.

    Only what has ended stays so: an epoch of a namespace, a revoked key.
    """

    def __init__(self, folder: Path | None = None, in_memory: int = NAMESPACES_IN_MEMORY) -> None:
        """Open or create a file of this process in the folder; None: one that is gone with the process.

        A damaged file is made anew.
        """
        self._path: Path | None = None
        self._lock: int | None = None
        if folder is not None:
            self._path, self._lock = _claim(folder)
        self._in_memory = in_memory
        self._whole: SettingsCatalog | None = None
        self._holds: Callable[[str], bool] | None = None
        self._open()

    def _open(self) -> None:
        connections = _connect(None) if self._path is None else open_or_replace(self._path, _connect)
        self._reader, self._writer = connections
        self._close = weakref.finalize(self, _close, *connections)
        self._cached: OrderedDict[str, NamespaceRow | None] = OrderedDict()
        self._organization = OrganizationChanged(updated_at=_EPOCH)
        self._keys: dict[str, KeyChanged] = {}
        self._connectors: dict[str, ConnectorChanged] = {}
        self._positions = _select_positions(self._reader)
        self._moved = dict(self._reader.execute("SELECT incarnation, namespace FROM moved").fetchall())
        for (event,) in self._reader.execute("SELECT event FROM others").fetchall():
            self._apply_other(SettingsChanged.model_validate_json(event))

    def close(self) -> None:
        self._close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def clear(self) -> None:
        """Forget everything: another log fills the catalog from its start."""
        with transaction(self._writer):
            for table in ("namespaces", "moved", "others", "positions", "counted"):
                self._writer.execute(f"DELETE FROM {table}")  # noqa: S608 - names of tables
        self._close()
        self._open()

    @property
    def positions(self) -> Mapping[int, tuple[int, float]]:
        """Return, by partition, the first offset that was missing when the file was opened, and the time before it."""
        return self._positions

    async def handle(self, batch: Sequence[Record[SettingsChanged]]) -> None:
        """Apply records of one partition, in order; they are in the file on return. A full disk is waited for."""
        changes, last = self._fold([record.event for record in batch]), batch[-1]
        position = (last.partition, last.log_offset + 1, last.timestamp.timestamp())
        await run_to_completion(self._write_with_retry(changes, position))
        self._show(changes)

    def apply(self, event: SettingsChanged) -> None:
        """Apply a change that is in no log."""
        changes = self._fold([event])
        self._write(changes, None)
        self._show(changes)

    def namespace(self, name: str) -> NamespaceRow | None:
        """Find a namespace; None unless it exists (has incarnations)."""
        row = self._find(name)
        if row is not None and self._holds is not None:
            row = replace(row, incarnations=tuple(filter(self._holds, row.incarnations)))
        return row if row is not None and row.incarnations else None

    def epoch(self, name: str) -> int:
        """Current epoch of a namespace, or the one its next incarnation starts with; 0 for a new name."""
        row = self._find(name)
        return 0 if row is None else row.epoch

    def namespace_of(self, incarnation: str) -> NamespaceRow | None:
        """Find the namespace that owns an incarnation now."""
        row = self.namespace(self._moved.get(incarnation) or first_namespace(incarnation))
        return row if row is not None and incarnation in row.incarnations else None

    def count(self, scopes: Sequence[str] | None = None, containing: str = "") -> int:
        """Count existing namespaces; see `newest`."""
        if scopes is None and not containing:
            (existing,) = self._reader.execute("SELECT existing FROM counted").fetchone()
            return int(existing)
        where, values = _condition(scopes, containing)
        (count,) = self._reader.execute(f"SELECT count(*) FROM namespaces WHERE {where}", values).fetchone()  # noqa: S608 - no values in it
        return int(count)

    def newest(
        self, scopes: Sequence[str] | None = None, containing: str = "", *, start: int = 0, limit: int = -1
    ) -> list[NamespaceRow]:
        """Return existing namespaces, newest first.

        `scopes`: names, and prefixes that end in `*`; None: all. `containing`: part of the name, in small letters.
        `limit` -1: as many as there are.
        """
        where, values = _condition(scopes, containing)
        query = f"SELECT {_COLUMNS} FROM namespaces WHERE {where} ORDER BY created DESC, name DESC LIMIT ? OFFSET ?"  # noqa: S608 - no values in it
        return [_to_row(found) for found in self._reader.execute(query, (*values, limit, start)).fetchall()]

    def namespaces(self) -> Iterator[NamespaceRow]:
        """Yield existing namespaces by name, read in pages: what changes meanwhile may be missing."""
        query = f"SELECT {_COLUMNS} FROM namespaces WHERE {_EXISTING} AND name > ? ORDER BY name LIMIT {_PAGE}"  # noqa: S608 - no values in it
        last = ""
        while page := self._reader.execute(query, (last,)).fetchall():
            yield from map(_to_row, page)
            last = page[-1][0]

    def incarnations(self, scopes: Sequence[str] | None = None) -> list[str]:
        """Return the incarnations of all existing namespaces within the scopes, without order."""
        where, values = _condition(scopes, "")
        found = self._reader.execute(f"SELECT incarnations FROM namespaces WHERE {where}", values)  # noqa: S608 - no values in it
        unique = dict.fromkeys(incarnation for (listed,) in found for incarnation in json.loads(listed))
        return list(unique if self._holds is None else filter(self._holds, unique))

    def joined_incarnations(self) -> list[tuple[str, ...]]:
        """Return the incarnations of each namespace that has several."""
        query = f"SELECT incarnations FROM namespaces WHERE {_EXISTING} AND json_array_length(incarnations) > 1"  # noqa: S608 - no values in it
        return [tuple(json.loads(listed)) for (listed,) in self._reader.execute(query)]

    def restricted_to(self, holds: Callable[[str], bool]) -> "SettingsCatalog":
        """Return the same catalog with only the held incarnations, to fill a part of the tables."""
        part = copy(self)
        part._whole = self  # noqa: SLF001 - it closes the files
        part._holds = holds  # noqa: SLF001 - of this class
        return part

    def organization(self) -> OrganizationRow:
        return OrganizationRow(context=self._organization.context, buckets=self._organization.buckets)

    @property
    def key_count(self) -> int:
        """Number of API keys, revoked ones included."""
        return len(self._keys)

    def keys(self) -> list[KeyChanged]:
        """Return every API key, revoked ones included, oldest first."""
        return sorted(self._keys.values(), key=lambda row: (row.created_at, row.id))

    def key(self, id: str) -> KeyChanged | None:  # noqa: A002 - a key's own word
        """Find an API key by its id, revoked ones included."""
        return self._keys.get(id)

    def connectors(self) -> list[ConnectorChanged]:
        """Return every connector, pending and removed ones included, newest first."""
        return sorted(self._connectors.values(), key=lambda row: (row.created_at, row.id), reverse=True)

    def connector(self, id: str) -> ConnectorChanged | None:  # noqa: A002 - a connector's own word
        return self._connectors.get(id)

    async def erase_replaced(self) -> None:
        """Remove from the disk what was replaced, and the files that no process uses."""
        if self._path is not None:
            await asyncio.to_thread(_erase_replaced, self._path)

    def _find(self, name: str) -> NamespaceRow | None:
        if name in self._cached:
            self._cached.move_to_end(name)
            return self._cached[name]
        query = f"SELECT {_COLUMNS} FROM namespaces WHERE name = ?"  # noqa: S608 - names of columns
        found = self._reader.execute(query, (name,)).fetchone()
        row = None if found is None else _to_row(found)
        self._cached[name] = row
        if len(self._cached) > self._in_memory:
            self._cached.popitem(last=False)
        return row

    def _fold(self, events: Sequence[SettingsChanged]) -> _Changes:
        """Work out what the events change, in order, and apply what is held in memory whole."""
        changes = _Changes()
        for event in events:
            match event.change:
                case NamespaceChanged() as change:
                    self._fold_namespace(changes, change)
                case OrganizationChanged() if self._apply_other(event):
                    changes.others["organization"] = event.model_dump_json()
                case KeyChanged() | ConnectorChanged() as change if self._apply_other(event):
                    is_gone = isinstance(change, ConnectorChanged) and change.status == "gone"
                    changes.others[f"{change.kind}/{change.id}"] = None if is_gone else event.model_dump_json()
        return changes

    def _fold_namespace(self, changes: _Changes, change: NamespaceChanged) -> None:
        row = NamespaceRow(**{column.name: getattr(change, column.name) for column in fields(NamespaceRow)})
        old = changes.namespaces.get(row.name) or self._find(row.name)
        if old is not None and old.epoch > row.epoch:
            return
        changes.created += bool(row.incarnations) - bool(old is not None and old.incarnations)
        for incarnation in () if old is None else old.incarnations:
            if changes.moved.get(incarnation, self._moved.get(incarnation)) == row.name:
                changes.moved[incarnation] = None
        for incarnation in row.incarnations:
            if first_namespace(incarnation) != row.name:
                changes.moved[incarnation] = row.name
            elif incarnation in self._moved or incarnation in changes.moved:
                changes.moved[incarnation] = None
        changes.namespaces[row.name] = row

    def _show(self, changes: _Changes) -> None:
        """Let readers see what the file has now."""
        for name in changes.namespaces:
            self._cached.pop(name, None)
        for incarnation, owner in changes.moved.items():
            if owner is None:
                self._moved.pop(incarnation, None)
            else:
                self._moved[incarnation] = owner

    async def _write_with_retry(self, changes: _Changes, position: tuple[int, int, float]) -> None:
        while True:
            try:
                return await asyncio.to_thread(self._write, changes, position)
            except sqlite3.OperationalError as error:
                _log.warning("The catalog %s can't be written and will be tried again: %s", self._path, error)
                await asyncio.sleep(_RETRY_SECONDS)

    def _write(self, changes: _Changes, position: tuple[int, int, float] | None) -> None:
        with transaction(self._writer):
            self._writer.executemany(
                "INSERT OR REPLACE INTO namespaces VALUES (?, ?, ?, ?, ?, ?)",
                map(_to_values, changes.namespaces.values()),
            )
            for table, key, changed in (("moved", "incarnation", changes.moved), ("others", "key", changes.others)):
                kept = [item for item in changed.items() if item[1] is not None]
                removed = [(name,) for name, value in changed.items() if value is None]
                self._writer.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", kept)  # noqa: S608 - names of tables
                self._writer.executemany(f"DELETE FROM {table} WHERE {key} = ?", removed)  # noqa: S608 - names of tables
            self._writer.execute("UPDATE counted SET existing = existing + ?", (changes.created,))
            if position is not None:
                self._writer.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", position)

    def _apply_other(self, event: SettingsChanged) -> bool:
        """Apply a change of what is held in memory whole; False if it is of a key that was revoked before."""
        match event.change:
            case OrganizationChanged() as change:
                self._organization = change
            case KeyChanged() as change:
                old = self._keys.get(change.id)
                if old is not None and old.revoked_at is not None and change.revoked_at is None:
                    return False
                self._keys[change.id] = change
            case ConnectorChanged(status="gone") as change:
                self._connectors.pop(change.id, None)
            case ConnectorChanged() as change:
                self._connectors[change.id] = change
        return True


def stored_positions(folder: Path) -> Sequence[Mapping[int, tuple[int, float]]]:
    """Read up to where the files in the folder were filled, beside processes that use them; see `positions`."""
    found = []
    for path in sorted(folder.glob("*.db")):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
            found.append(_select_positions(db))
    return found


def _select_positions(db: sqlite3.Connection) -> dict[int, tuple[int, float]]:
    found = db.execute("SELECT partition, next, time FROM positions").fetchall()
    return {partition: (following, time) for partition, following, time in found}


def _claim(folder: Path) -> tuple[Path, int]:
    """Return the first file of the folder that no other process uses, and the descriptor that holds its lock."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in count():
        lock = os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        if lock_descriptor(lock, blocking=False):
            return folder / f"{number}.db", lock
        os.close(lock)
    raise AssertionError("numbers do not end")


def _erase_replaced(path: Path) -> None:
    with closing(connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for lock_file in path.parent.glob("*.lock"):
        with _try_lock(lock_file) as is_free:
            for file in path.parent.glob(f"{lock_file.stem}.db*") if is_free else ():
                file.unlink()


@contextmanager
def _try_lock(path: Path) -> Iterator[bool]:
    """Hold a lock inside the block, if nobody else does."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        yield lock_descriptor(descriptor, blocking=False)
    finally:
        os.close(descriptor)


def _connect(path: Path | None) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Connections to read and to write with: a reader sees whole batches only."""
    # An empty path stands for a temporary file, of one connection.
    writer = connect(path or "", "secure_delete = ON")
    # A batch that a power cut takes along is read from the log again.
    writer.execute("PRAGMA synchronous = NORMAL")
    writer.executescript(_SCHEMA)
    return (writer if path is None else connect(path)), writer


def _close(*connections: sqlite3.Connection) -> None:
    for connection in connections:
        connection.close()


def _condition(scopes: Sequence[str] | None, containing: str) -> tuple[str, list[str]]:
    """Return a condition in SQL, without values in it, and its values."""
    where, values = _EXISTING, list[str]()
    if scopes is not None:
        within = []
        for scope in scopes:
            prefix, is_prefix = scope.removesuffix("*"), scope.endswith("*")
            within.append("(name >= ? AND name < ?)" if is_prefix else "name = ?")
            values += [prefix, prefix + chr(0x10FFFF)] if is_prefix else [scope]
        where += f" AND ({' OR '.join(within) or '0'})"
    if containing:
        where += " AND instr(lower(name), ?)"
        values.append(containing)
    return where, values


def _to_values(row: NamespaceRow) -> tuple[str, int, str | None, int, int, str | None]:
    optional = {name: value for name in _OPTIONAL if (value := getattr(row, name))}
    return (
        row.name,
        row.epoch,
        json.dumps(row.incarnations) if row.incarnations else None,
        _to_microseconds(row.created_at),
        _to_microseconds(row.updated_at),
        json.dumps(optional) if optional else None,
    )


def _to_row(values: tuple[str, int, str | None, int, int, str | None]) -> NamespaceRow:
    name, epoch, incarnations, created, updated, settings = values
    return NamespaceRow(
        name=name,
        epoch=epoch,
        incarnations=() if incarnations is None else tuple(json.loads(incarnations)),
        created_at=_EPOCH + timedelta(microseconds=created),
        updated_at=_EPOCH + timedelta(microseconds=updated),
        **({} if settings is None else json.loads(settings)),
    )


def _to_microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
