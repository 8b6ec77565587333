"""The facts of a namespace that its profile may show: the top ones of each section."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import from_microseconds, to_microseconds
from pipeline.memory.versioning.fact_comparison import parse_valid_time
from pipeline.packed_vectors import unpack
from pipeline.profile.bucket_classifier import BucketClassifier
from pipeline.profile.fact_relevance import is_lasting
from pipeline.profile.profile_sections import MAX_FACTS_PER_SECTION, SectionFact, static_priorities, static_priority
from pipeline.rows import MemoryColumns, MemoryRow, StringColumn
from pipeline.vector_classifier import NOTHING_LEARNED, VectorClassifier

SECTION_CAPACITY = 12 * MAX_FACTS_PER_SECTION
"""Facts held per section; some may be aggregated or deleted."""
MIN_SECTION_SIZE = 3 * MAX_FACTS_PER_SECTION
"""Size below which a section that had more facts is reloaded."""
STATIC, DYNAMIC = "static", "dynamic"  # reserved names that no bucket may have
_EPOCH = from_microseconds(0)


class SectionTopK:
    """The ids with the highest scores; the smaller id wins a tie."""

    def __init__(self) -> None:
        self._sort_keys: dict[str, tuple[int, str]] = {}
        self._first_evicted: tuple[int, str] | None = None

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._sort_keys

    @property
    def ordered_ids(self) -> list[str]:
        return [id_ for _, id_ in sorted(self._sort_keys.values())]

    @property
    def is_underfilled(self) -> bool:
        """True if so many ids were removed that evicted ones are missing."""
        return self._first_evicted is not None and len(self._sort_keys) < MIN_SECTION_SIZE

    def put(self, memory_id: str, score: int) -> list[str]:
        """Insert an id if it ranks high enough; return the ids dropped because of it."""
        key = (-score, memory_id)
        if self._first_evicted is not None and key > self._first_evicted:
            return [memory_id]
        self._sort_keys[memory_id] = key
        return self._evict() if len(self._sort_keys) > 2 * SECTION_CAPACITY else []

    def select_top(self, rows: NDArray[np.intp], scores: NDArray[np.int64]) -> list[int]:
        """Return the rows that may rank high enough, including all ties with the lowest score."""
        if self._first_evicted is not None:
            rows, scores = rows[scores >= -self._first_evicted[0]], scores[scores >= -self._first_evicted[0]]
        if len(rows) > 2 * SECTION_CAPACITY:
            lowest_score = np.partition(scores, len(scores) - 2 * SECTION_CAPACITY)[len(scores) - 2 * SECTION_CAPACITY]
            rows = rows[scores >= lowest_score]
        candidate_rows: list[int] = rows.tolist()
        return candidate_rows

    def remove(self, memory_id: str) -> None:
        self._sort_keys.pop(memory_id, None)

    def _evict(self) -> list[str]:
        ordered = sorted(self._sort_keys.values())
        self._first_evicted = ordered[SECTION_CAPACITY]
        self._sort_keys = {key[1]: key for key in ordered[:SECTION_CAPACITY]}
        return [key[1] for key in ordered[SECTION_CAPACITY:]]


@dataclass(frozen=True, slots=True)
class ScoredFacts:
    """Memories in columns, with scores in their own section and bucket membership (rows, buckets).

    `rows` index `ids`, `texts` and `sources`; the other arrays run parallel to `rows`.
    """

    ids: StringColumn
    texts: StringColumn
    sources: StringColumn
    rows: NDArray[np.intp]
    valid_times_ms: NDArray[np.int64]
    is_static: NDArray[np.bool_]
    worths: NDArray[np.float32]
    scores: NDArray[np.int64]
    bucket_membership: NDArray[np.bool_]

    def select(
        self, positions: NDArray[np.intp], bucket_names: Callable[[NDArray[np.bool_]], frozenset[str]]
    ) -> Iterator[tuple[SectionFact, int]]:
        rows = self.rows[positions]
        texts = zip(self.ids.take(rows), self.texts.take(rows), self.sources.take(rows), strict=True)
        for position, (id_, text, sources) in zip(positions.tolist(), texts, strict=True):
            fact = SectionFact(
                id_,
                text,
                int(self.valid_times_ms[position]),
                bool(self.is_static[position]),
                tuple(sources.split()),
                float(self.worths[position]),
                bucket_names(self.bucket_membership[position]),
            )
            yield fact, int(self.scores[position])


class ProfileState:
    def __init__(self, classifier: BucketClassifier, lasting_statements: VectorClassifier = NOTHING_LEARNED) -> None:
        self._classifier = classifier
        self._lasting_statements = lasting_statements
        self._bucket_names_by_membership: dict[bytes, frozenset[str]] = {}
        self.facts: dict[str, SectionFact] = {}
        self.sections = {name: SectionTopK() for name in (STATIC, DYNAMIC, *classifier.names)}

    @property
    def is_underfilled(self) -> bool:
        """True if any section must be reloaded."""
        return any(section.is_underfilled for section in self.sections.values())

    def top_facts(self, section: str) -> list[SectionFact]:
        return [self.facts[id_] for id_ in self.sections[section].ordered_ids]

    def apply_changes(self, rows: Iterable[tuple[str, MemoryRow | None]]) -> None:
        latest = dict(rows)
        for id_ in latest:
            self._remove(id_)
        current = [row for row in latest.values() if row is not None and row.is_active and row.in_profile]
        vectors = [row.vector for row in current]
        membership = self._classifier.classify_facts(vectors, [row.terms for row in current])
        log_odds = self._lasting_statements.log_odds_of(vectors)
        for row, bucket_flags, odds in zip(current, membership, log_odds, strict=True):
            valid_time_ms = parse_valid_time_ms(to_microseconds(row.updated_at), row.date or "")
            lasting = is_lasting(row.text, is_static=row.is_static, log_odds=odds)
            names = self._bucket_names(bucket_flags)
            fact = SectionFact(row.id, row.text, valid_time_ms, lasting, row.sources, row.worth, names)
            priority = static_priority(row.text, len(row.sources), valid_time_ms, row.worth)
            self._put(fact, priority if lasting else valid_time_ms)

    def score(self, columns: MemoryColumns) -> "ScoredFacts":
        """Score the memories that a profile may show, for `add_batches`."""
        rows = np.flatnonzero(columns.is_latest & ~columns.forgotten & columns.in_profile)
        valid_times_ms, is_static = _valid_times_ms(columns, rows), columns.is_static[rows]
        vectors = unpack(columns.vectors)
        log_odds = self._lasting_statements.log_odds(vectors[rows])
        lasting = map(_is_lasting, columns.texts.take(rows), is_static.tolist(), log_odds.tolist())
        is_static = np.fromiter(lasting, np.bool_, len(rows))
        scores = valid_times_ms.copy()
        scores[is_static] = static_priorities(
            columns.texts.take(rows[is_static]),
            columns.sources.count_spaces(rows[is_static]) + 1,
            valid_times_ms[is_static],
            columns.worths[rows[is_static]],
        )
        membership = self._classifier.classify_columns(columns, vectors)[rows]
        return ScoredFacts(
            columns.ids,
            columns.texts,
            columns.sources,
            rows,
            valid_times_ms,
            is_static,
            columns.worths[rows],
            scores,
            membership,
        )

    def add_batches(self, batches: Sequence["ScoredFacts"]) -> None:
        """Add memories that are not held yet. Larger batches need fewer comparisons in Python."""
        if not batches:
            return
        valid_times_ms = np.concatenate([batch.valid_times_ms for batch in batches])
        is_static = np.concatenate([batch.is_static for batch in batches])
        scores = np.concatenate([batch.scores for batch in batches])
        membership = np.concatenate([batch.bucket_membership for batch in batches])
        positions = np.arange(len(valid_times_ms))
        selected = {
            *self.sections[STATIC].select_top(positions[is_static], scores[is_static]),
            *self.sections[DYNAMIC].select_top(positions[~is_static], scores[~is_static]),
        }
        for bucket, name in enumerate(self._classifier.names):
            members = membership[:, bucket]
            selected.update(self.sections[name].select_top(positions[members], valid_times_ms[members]))
        chosen = np.array(sorted(selected), np.intp)
        offsets = np.cumsum([0, *(len(batch.rows) for batch in batches)])
        for batch, begin, end in zip(batches, offsets[:-1], offsets[1:], strict=True):
            batch_positions = chosen[(chosen >= begin) & (chosen < end)] - begin
            for fact, score in batch.select(batch_positions, self._bucket_names):
                self._put(fact, score)

    def _bucket_names(self, membership: NDArray[np.bool_]) -> frozenset[str]:
        key = membership.tobytes()
        if key not in self._bucket_names_by_membership:
            self._bucket_names_by_membership[key] = frozenset(compress(self._classifier.names, membership.tolist()))
        return self._bucket_names_by_membership[key]

    def _put(self, fact: SectionFact, score: int) -> None:
        self.facts[fact.id] = fact
        section = STATIC if fact.is_static else DYNAMIC
        dropped_ids = self.sections[section].put(fact.id, score)
        for name in fact.buckets:
            dropped_ids += self.sections[name].put(fact.id, fact.valid_time_ms)
        for dropped_id in dropped_ids:
            if dropped_id in self.facts and not self._is_held(self.facts[dropped_id]):
                del self.facts[dropped_id]

    def _remove(self, memory_id: str) -> None:
        fact = self.facts.pop(memory_id, None)
        if fact is not None:
            for name in (STATIC if fact.is_static else DYNAMIC, *fact.buckets):
                self.sections[name].remove(memory_id)

    def _is_held(self, fact: SectionFact) -> bool:
        section = STATIC if fact.is_static else DYNAMIC
        return fact.id in self.sections[section] or any(fact.id in self.sections[name] for name in fact.buckets)


def _is_lasting(text: str, is_static: bool, log_odds: float) -> bool:
    return is_lasting(text, is_static=is_static, log_odds=log_odds)


def _valid_times_ms(columns: MemoryColumns, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the valid time of each row, as `parse_valid_time_ms`."""
    valid_times: NDArray[np.int64] = columns.updated_at[rows] // 1000
    dated_positions = np.flatnonzero(np.diff(columns.dates.offsets)[rows])
    for position, date in zip(dated_positions.tolist(), columns.dates.take(rows[dated_positions]), strict=True):
        if (date_ms := _parse_date_ms(date)) is not None:
            valid_times[position] = date_ms
    return valid_times


def parse_valid_time_ms(updated_at: int, date: str) -> int:
    """Return a fact's valid time in milliseconds: its date, else `updated_at` (microseconds)."""
    if not date:
        return updated_at // 1000
    date_ms = _parse_date_ms(date)
    return updated_at // 1000 if date_ms is None else date_ms


@lru_cache(maxsize=4096)
def _parse_date_ms(date: str) -> int | None:
    """Parse a date, None if invalid; cached, as many facts share one."""
    valid_time = parse_valid_time(date, _EPOCH)
    return None if valid_time is _EPOCH else to_microseconds(valid_time) // 1000
