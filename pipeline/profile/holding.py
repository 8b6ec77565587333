"""The facts of a namespace that its profile may show: of each section those that come first."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import microseconds
from pipeline.columns import moment as as_time
from pipeline.memory.relations import moment
from pipeline.profile.buckets import Buckets
from pipeline.profile.sections import FACTS, Fact, durability
from pipeline.rows import MemoryColumns, MemoryRow

KEPT = 12 * FACTS
"""Facts of a section that are held: several of them may become one, and some may go."""
FEW = 3 * FACTS
"""With fewer of them, although there were more, the namespace is read again."""
STATIC, DYNAMIC = "static", "dynamic"
"""Names that no bucket may have."""


class Section:
    """The ids that come first by score (the higher the earlier, of equal ones the smaller id)."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[int, str]] = {}
        self._cut: tuple[int, str] | None = None

    def __contains__(self, one: str) -> bool:
        return one in self._keys

    @property
    def ordered(self) -> list[str]:
        """The ids that are held, in order."""
        return [one for _, one in sorted(self._keys.values())]

    @property
    def is_thin(self) -> bool:
        """Whether too much went of what was held, so that what was cut off is missing."""
        return self._cut is not None and len(self._keys) < FEW

    def put(self, one: str, score: int) -> list[str]:
        """Hold an id if it comes early enough; the ids that are not held any more because of it."""
        key = (-score, one)
        if self._cut is not None and key > self._cut:
            return [one]
        self._keys[one] = key
        return self._trimmed() if len(self._keys) > 2 * KEPT else []

    def early(self, rows: NDArray[np.intp], scores: NDArray[np.int64]) -> list[int]:
        """Of many rows those that come early enough; with all of the lowest score, since ids decide then."""
        if self._cut is not None:
            rows, scores = rows[scores >= -self._cut[0]], scores[scores >= -self._cut[0]]
        if len(rows) > 2 * KEPT:
            least = np.partition(scores, len(scores) - 2 * KEPT)[len(scores) - 2 * KEPT]
            rows = rows[scores >= least]
        found: list[int] = rows.tolist()
        return found

    def drop(self, one: str) -> None:
        """Let go of an id, if it is held."""
        self._keys.pop(one, None)

    def _trimmed(self) -> list[str]:
        ordered = sorted(self._keys.values())
        self._cut = ordered[KEPT]
        self._keys = {key[1]: key for key in ordered[:KEPT]}
        return [key[1] for key in ordered[KEPT:]]


class Holding:
    """Facts by id, and the sections that hold them."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets
        self.facts: dict[str, Fact] = {}
        self.sections = {name: Section() for name in (STATIC, DYNAMIC, *buckets.names)}

    @property
    def is_thin(self) -> bool:
        """Whether some section should be filled again."""
        return any(section.is_thin for section in self.sections.values())

    def first(self, section: str) -> list[Fact]:
        """The facts of a section, in order."""
        return [self.facts[one] for one in self.sections[section].ordered]

    def change(self, rows: Iterable[tuple[str, MemoryRow | None]]) -> None:
        """Memories are now these (None: gone)."""
        latest = dict(rows)
        for one in latest:
            self._drop(one)
        current = [row for row in latest.values() if row is not None and row.recallable]
        fitting = self._buckets.of_facts([row.vector for row in current], [row.terms for row in current])
        for row, places in zip(current, fitting, strict=True):
            self._put(
                Fact(
                    id=row.id,
                    text=row.text,
                    when=time_of(microseconds(row.updated_at), row.date or ""),
                    is_static=row.is_static,
                    sources=row.sources,
                    buckets=self._named(places),
                )
            )

    def add(self, columns: MemoryColumns) -> None:
        """Memories that are not held yet, many side by side."""
        rows = np.flatnonzero(columns.is_latest & ~columns.forgotten)
        if not len(rows):
            return
        fitting = self._buckets.of_columns(columns)
        times, dates = columns.updated_at, columns.dates
        whens = np.array([time_of(int(times[row]), dates[row]) for row in rows.tolist()], np.int64)
        lasting = columns.is_static[rows]
        scores = _durabilities(columns, rows[lasting], whens[lasting])
        wanted = {
            *self.sections[STATIC].early(rows[lasting], scores),
            *self.sections[DYNAMIC].early(rows[~lasting], whens[~lasting]),
        }
        for bucket, name in enumerate(self._buckets.names):
            members = fitting[rows, bucket]
            wanted.update(self.sections[name].early(rows[members], whens[members]))
        place = dict(zip(rows.tolist(), whens.tolist(), strict=True))
        for row in sorted(wanted):
            self._put(
                Fact(
                    id=columns.ids[row],
                    text=columns.texts[row],
                    when=place[row],
                    is_static=bool(columns.is_static[row]),
                    sources=tuple(columns.sources[row].split()),
                    buckets=self._named(fitting[row]),
                )
            )

    def _named(self, places: NDArray[np.bool_]) -> frozenset[str]:
        return frozenset(self._buckets.names[place] for place in np.flatnonzero(places).tolist())

    def _put(self, fact: Fact) -> None:
        self.facts[fact.id] = fact
        own = STATIC if fact.is_static else DYNAMIC
        score = durability(fact.text, len(fact.sources), fact.when) if fact.is_static else fact.when
        lost = self.sections[own].put(fact.id, score)
        for name in fact.buckets:
            lost += self.sections[name].put(fact.id, fact.when)
        for one in lost:
            if one in self.facts and not self._is_held(self.facts[one]):
                del self.facts[one]

    def _drop(self, one: str) -> None:
        fact = self.facts.pop(one, None)
        if fact is not None:
            for name in (STATIC if fact.is_static else DYNAMIC, *fact.buckets):
                self.sections[name].drop(one)

    def _is_held(self, fact: Fact) -> bool:
        own = STATIC if fact.is_static else DYNAMIC
        return any(fact.id in self.sections[name] for name in (own, *fact.buckets))


def _durabilities(
    columns: MemoryColumns, rows: NDArray[np.intp], whens: NDArray[np.int64]
) -> NDArray[np.int64]:
    texts, sources = columns.texts, columns.sources
    return np.array(
        [
            durability(texts[row], 1 + sources[row].count(" "), when)
            for row, when in zip(rows.tolist(), whens.tolist(), strict=True)
        ],
        np.int64,
    )


def time_of(updated_at: int, date: str) -> int:
    """When a fact is of, in milliseconds: what its source says, else when that came (microseconds)."""
    if not date:
        return updated_at // 1000
    dated = _dated(date)
    return updated_at // 1000 if dated is None else dated


@lru_cache(maxsize=4096)
def _dated(date: str) -> int | None:
    """Many facts have the same date."""
    nothing = as_time(0)
    said, otherwise = moment(date, nothing), moment("", nothing)
    return None if said is otherwise else microseconds(said) // 1000
