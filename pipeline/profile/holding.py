"""The facts of a namespace that its profile may show: of each section those that come first."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import microseconds
from pipeline.columns import moment as as_time
from pipeline.memory.relations import moment
from pipeline.profile.buckets import Buckets
from pipeline.profile.sections import FACTS, Fact, durabilities, durability
from pipeline.rows import MemoryColumns, MemoryRow, Texts

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


@dataclass(frozen=True, slots=True)
class Judged:
    """Memories side by side, with all that decides which of them are held: of `rows` of the texts.

    `scores` are those of their own section, `fitting` says of each bucket whether they are in it.
    """

    ids: Texts
    texts: Texts
    sources: Texts
    rows: NDArray[np.intp]
    whens: NDArray[np.int64]
    lasting: NDArray[np.bool_]
    scores: NDArray[np.int64]
    fitting: NDArray[np.bool_]

    def facts(
        self, places: NDArray[np.intp], named: Callable[[NDArray[np.bool_]], frozenset[str]]
    ) -> Iterator[tuple[Fact, int]]:
        """Some of them, with their scores."""
        rows = self.rows[places]
        texts = zip(self.ids.some(rows), self.texts.some(rows), self.sources.some(rows), strict=True)
        for at, (id_, text, sources) in zip(places.tolist(), texts, strict=True):
            fact = Fact(
                id_,
                text,
                int(self.whens[at]),
                bool(self.lasting[at]),
                tuple(sources.split()),
                named(self.fitting[at]),
            )
            yield fact, int(self.scores[at])


class Holding:
    """Facts by id, and the sections that hold them."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets
        self._patterns: dict[bytes, frozenset[str]] = {}
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
            when = time_of(microseconds(row.updated_at), row.date or "")
            fact = Fact(row.id, row.text, when, row.is_static, row.sources, self._named(places))
            self._put(fact, durability(row.text, len(row.sources), when) if row.is_static else when)

    def judged(self, columns: MemoryColumns) -> "Judged":
        """Those of many memories that a profile may show, made ready for `add`."""
        rows = np.flatnonzero(columns.is_latest & ~columns.forgotten)
        whens, lasting = _times(columns, rows), columns.is_static[rows]
        scores = whens.copy()
        scores[lasting] = durabilities(
            columns.texts.some(rows[lasting]), columns.sources.spaces(rows[lasting]) + 1, whens[lasting]
        )
        fitting = self._buckets.of_columns(columns)[rows]
        return Judged(columns.ids, columns.texts, columns.sources, rows, whens, lasting, scores, fitting)

    def add(self, batches: Sequence["Judged"]) -> None:
        """Memories that are not held yet. The more at a time, the fewer of them are looked at closely."""
        if not batches:
            return
        whens = np.concatenate([one.whens for one in batches])
        lasting = np.concatenate([one.lasting for one in batches])
        scores = np.concatenate([one.scores for one in batches])
        fitting = np.concatenate([one.fitting for one in batches])
        every = np.arange(len(whens))
        wanted = {
            *self.sections[STATIC].early(every[lasting], scores[lasting]),
            *self.sections[DYNAMIC].early(every[~lasting], scores[~lasting]),
        }
        for bucket, name in enumerate(self._buckets.names):
            members = fitting[:, bucket]
            wanted.update(self.sections[name].early(every[members], whens[members]))
        chosen = np.array(sorted(wanted), np.intp)
        begins = np.cumsum([0, *(len(one.rows) for one in batches)])
        for one, begin, end in zip(batches, begins[:-1], begins[1:], strict=True):
            places = chosen[(chosen >= begin) & (chosen < end)] - begin
            for fact, score in one.facts(places, self._named):
                self._put(fact, score)

    def _named(self, places: NDArray[np.bool_]) -> frozenset[str]:
        key = places.tobytes()
        if key not in self._patterns:
            self._patterns[key] = frozenset(compress(self._buckets.names, places.tolist()))
        return self._patterns[key]

    def _put(self, fact: Fact, score: int) -> None:
        self.facts[fact.id] = fact
        own = STATIC if fact.is_static else DYNAMIC
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
        return fact.id in self.sections[own] or any(fact.id in self.sections[name] for name in fact.buckets)


def _times(columns: MemoryColumns, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """`time_of` each of these rows."""
    whens: NDArray[np.int64] = columns.updated_at[rows] // 1000
    dated = np.flatnonzero(np.diff(columns.dates.offsets)[rows])
    for place, date in zip(dated.tolist(), columns.dates.some(rows[dated]), strict=True):
        if (said := _dated(date)) is not None:
            whens[place] = said
    return whens


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
