"""Change history: which entity keys changed since a position, for incarnations that somebody has a copy of.

It lies in the file of the write-ahead log and is written before LanceDB is, so a copy of rows that was made at a
position, brought up to date with the keys that changed since, equals the table, also after a kill.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from uuid import uuid4

from pipeline.runtime.group_commit import GroupCommit

MAX_CHANGES = 16_384
"""Changed keys of an incarnation above which its history ends: reading all rows anew takes less time."""
ANY_INCARNATION = ""
"""Incarnation of a deletion that was recovered from the log, which does not know it."""
_KEPT_SESSIONS = 1_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS history_sessions(number INTEGER PRIMARY KEY, id TEXT UNIQUE, first INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS history_end(only INTEGER PRIMARY KEY CHECK (only = 0), position INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS history_incarnations(incarnation TEXT PRIMARY KEY, first INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history_changes(
    incarnation TEXT, kind TEXT, key TEXT, position INTEGER NOT NULL, PRIMARY KEY (incarnation, kind, key)
) WITHOUT ROWID;
INSERT OR IGNORE INTO history_end VALUES (0, 0);
"""


class ChangeHistory:
    """History of the tables of one process. A position is a session, one run of a process, and a number.

    Numbers grow over all sessions, so a copy that is newer than restored tables shows by its session or number.
    """

    def __init__(self, commits: GroupCommit[sqlite3.Connection]) -> None:
        """`commits`: those of the write-ahead log, whose file and thread the history shares."""
        self._commits = commits
        self.session = uuid4().hex
        """Id of this run."""
        self.sessions: Sequence[str] = ()
        """Ids of the first run, which stands for the tables, and of the newest ones, in order."""
        self.position = 0
        """Number of the last change that was recorded."""
        self._counts: Counter[str] = Counter()
        self._firsts: dict[str, int] = {}

    async def open(self) -> None:
        """Read what earlier processes left, and begin a session."""
        await self._commits.submit(self._begin)

    def _begin(self, db: sqlite3.Connection) -> None:
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        self.position = db.execute("SELECT position FROM history_end").fetchone()[0]
        self._firsts = dict(db.execute("SELECT incarnation, first FROM history_incarnations").fetchall())
        counts = "SELECT incarnation, count(*) FROM history_changes GROUP BY incarnation"
        self._counts = Counter(dict(db.execute(counts).fetchall()))
        db.execute("INSERT INTO history_sessions(id, first) VALUES (?, ?)", (self.session, self.position))
        db.execute(
            "DELETE FROM history_sessions WHERE number <= (SELECT max(number) FROM history_sessions) - ?"
            " AND number > (SELECT min(number) FROM history_sessions)",
            (_KEPT_SESSIONS,),
        )
        self.sessions = [name for (name,) in db.execute("SELECT id FROM history_sessions ORDER BY number")]

    async def track(self, incarnations: Collection[str]) -> None:
        """Record the changes of these incarnations from now on."""
        new = [incarnation for incarnation in incarnations if incarnation not in self._firsts]
        if not new:
            return

        def write(db: sqlite3.Connection) -> int:
            first = _advance(db)
            db.executemany("INSERT OR REPLACE INTO history_incarnations VALUES (?, ?)", [(name, first) for name in new])
            return first

        first = await self._commits.submit(write)
        # Changes flushed meanwhile are not recorded: when a position is taken they are unflushed or in LanceDB.
        self._firsts |= dict.fromkeys(new, first)
        self.position = max(self.position, first)

    async def untrack(self, incarnations: Collection[str]) -> None:
        """End the history of these incarnations: nobody may rely on it any more."""
        if known := [incarnation for incarnation in incarnations if incarnation in self._firsts]:
            await self._commits.submit(lambda db: _untrack(db, known))
            for incarnation in known:
                self._firsts.pop(incarnation, None)
                self._counts.pop(incarnation, None)

    async def forget(self, incarnations: Collection[str], position: int) -> None:
        """Begin the history of these incarnations at a position: older copies of them may not be used any more."""
        known = [(position, incarnation) for incarnation in incarnations if incarnation in self._firsts]

        def write(db: sqlite3.Connection) -> None:
            db.executemany("UPDATE history_incarnations SET first = max(first, ?) WHERE incarnation = ?", known)
            db.executemany("DELETE FROM history_changes WHERE position <= ? AND incarnation = ?", known)

        await self._commits.submit(write)
        for _, incarnation in known:
            if incarnation in self._firsts:
                self._firsts[incarnation] = max(self._firsts[incarnation], position)
            # Changes recorded meanwhile are counted anew at the next start; the bound is a rough one.
            self._counts[incarnation] = 0

    async def record(self, kind: str, changed: Iterable[tuple[str, str]]) -> None:
        """Record changed keys, each after its incarnation; durable on return. Nothing where nobody has a copy.

        Raises OSError.
        """
        if not self._firsts:
            return
        keys = [(name, kind, key) for name, key in changed if name in self._firsts or name == ANY_INCARNATION]

        def write(db: sqlite3.Connection) -> int:
            position = _advance(db)
            db.executemany(
                "INSERT OR REPLACE INTO history_changes VALUES (?, ?, ?, ?)", [(*key, position) for key in keys]
            )
            return position

        position = await self._commits.submit(write)
        self.position = max(self.position, position)
        self._counts.update(name for name, _, _ in keys)
        overfull = self._counts[ANY_INCARNATION] > MAX_CHANGES
        await self.untrack([name for name in self._firsts if overfull or self._counts[name] > MAX_CHANGES])

    async def changed_since(
        self, session: str, position: int, kind: str, incarnations: Collection[str]
    ) -> list[str] | None:
        """The keys of these incarnations that changed after a position; None if the history does not tell."""
        if not all(self._firsts.get(incarnation, position + 1) <= position for incarnation in incarnations):
            return None
        names = [*incarnations, ANY_INCARNATION]

        def read(db: sqlite3.Connection) -> list[str] | None:
            found = db.execute("SELECT number FROM history_sessions WHERE id = ?", (session,)).fetchone()
            if found is None or position > _end_of_session(db, found[0]):
                return None
            condition = f"kind = ? AND position > ? AND incarnation IN ({', '.join('?' * len(names))})"
            rows = db.execute(f"SELECT key FROM history_changes WHERE {condition}", (kind, position, *names))  # noqa: S608 - placeholders only
            return [key for (key,) in rows]

        return await self._commits.submit(read)


def _untrack(db: sqlite3.Connection, incarnations: Collection[str]) -> None:
    names = [(incarnation,) for incarnation in incarnations]
    db.executemany("DELETE FROM history_incarnations WHERE incarnation = ?", names)
    db.executemany("DELETE FROM history_changes WHERE incarnation = ?", names)


def _advance(db: sqlite3.Connection) -> int:
    db.execute("UPDATE history_end SET position = position + 1")
    return int(db.execute("SELECT position FROM history_end").fetchone()[0])


def _end_of_session(db: sqlite3.Connection, number: int) -> int:
    following = db.execute("SELECT min(first) FROM history_sessions WHERE number > ?", (number,)).fetchone()[0]
    end: int = db.execute("SELECT position FROM history_end").fetchone()[0] if following is None else following
    return end
