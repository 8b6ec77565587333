"""Rules for the sections of a profile: what is shown, in which order, and how much. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import from_microseconds
from pipeline.profile.fact_aggregation import ProfileEntry, aggregate_facts
from pipeline.profile.fact_relevance import (
    MAX_CHANGE_AGE_DAYS,
    is_clear,
    is_current,
    is_planned,
    leading_name,
    names_in,
    subjects_of,
)

N = TypeVar("N", int, NDArray[np.int64])

MAX_FACTS_PER_SECTION = 20
"""Facts of one section."""
AGGREGATION_CANDIDATES = 5 * MAX_FACTS_PER_SECTION
"""Facts of a section among which equal statements are aggregated."""
MIN_DYNAMIC_FACTS = 8
"""Facts that go on, up to which older changes are shown where there are few newer ones."""
MAX_SPARSE_AGE_DAYS = 365
"""Age of such a change."""
DEFAULT_MAX_TOKENS = 1_000
"""Tokens of static and dynamic facts together; a bucket has as many as one of these sections."""
CHARS_PER_TOKEN = 4
MAX_WORTH = 15
"""Worth counted in a fact's priority."""
MAX_COUNTED_SOURCES = 31
"""Sources counted in a fact's priority."""
_IDENTITY = re.compile(
    r"^(?:\S+ ){1,4}?(?:is called|name is|is named|goes by|asks:|wants to be called|"
    r"(?:now |currently )?(?:lives|is based|resides) in|"
    r"(?:now |currently )?works (?:at|as|for)|is (?:a|an) [\w ]+ (?:at|by profession)|is from|was born|"
    r"comes from|grew up|is (?:now )?married|is (?:[\w'-]+, )?\d+\b|"
    r"turned \d+|is (?:severely )?(?:allergic|vegetarian|vegan|"
    r"diabetic|"
    r"\w+[- ]intolerant|intolerant)|can't (?:eat|have)|doesn't eat|has (?:asthma|diabetes|epilepsy)|"
    r"has been an? [\w ]+ (?:at|in|for)|has (?:a|an|two|three|four|\d+) (?:\w+ )?(?:"
    r"sons?|daughters?|kids?|children|wife|husband|"
    r"partner|girlfriend|boyfriend)|"
    r"birthday is|'s (?:name|birthday|age|job) is)\b"
)
"""Statements of identity, shown regardless of age."""
_SIMPLE_STATEMENT = re.compile(
    r"^[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2} (?:"
    r"is (?:a|an|the|allergic to|afraid of|married to|learning|good at)|never|"
    r"(?:really )?(?:likes|loves|enjoys|prefers|dislikes|hates|speaks|plays|owns|has|collects|knows|uses)|"
    r"studies|studied|drives|eats|drinks|doesn't (?:like|eat|drink|have)) "
)
"""Plain statements of what somebody is, has, likes or can do…"""
_MAX_SIMPLE_STATEMENT_WORDS = 12
"""…shown before longer ones."""
_LATEST_MS = 253_402_300_799_000
"""The end of the year 9999."""
_VALID_TIME_BITS = 48
"""Bits for milliseconds up to the year 9999."""


@dataclass(frozen=True, slots=True)
class SectionFact:
    """A memory as a profile holds it. `valid_time_ms`: the time it is about, in milliseconds since 1970
    UTC.
    """

    id: str
    text: str
    valid_time_ms: int
    is_static: bool
    sources: tuple[str, ...] = ()
    worth: float = 0.0
    buckets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProfileSnapshot:
    """The contents of a profile, the most important entries of each section first."""

    static: Sequence[ProfileEntry] = ()
    dynamic: Sequence[ProfileEntry] = ()
    buckets: Mapping[str, Sequence[ProfileEntry]] = field(default_factory=dict)


def build_profile(
    facts: Iterable[SectionFact], bucket_names: Iterable[str], now_ms: int, max_tokens: int = DEFAULT_MAX_TOKENS
) -> ProfileSnapshot:
    """Build the profile of these facts with these buckets; `now_ms` in milliseconds."""
    newest = sorted(facts, key=_recency_sort_key)
    return build_profile_from_ordered(
        sorted((fact for fact in newest if fact.is_static), key=_static_sort_key),
        [fact for fact in newest if not fact.is_static],
        {name: [fact for fact in newest if name in fact.buckets] for name in bucket_names},
        now_ms,
        max_tokens,
    )


def build_profile_from_ordered(
    static: Sequence[SectionFact],
    dynamic: Sequence[SectionFact],
    buckets: Mapping[str, Sequence[SectionFact]],
    now_ms: int,
    max_tokens: int = DEFAULT_MAX_TOKENS,
) -> ProfileSnapshot:
    """Build a profile of ordered facts: static ones by `static_priority`, others newest first."""
    today = _day(now_ms)
    chars = max_tokens * CHARS_PER_TOKEN // 2
    is_relevant = _subject_filter([*static, *dynamic], today)
    dynamic = [fact for fact in _current_facts(dynamic, today) if is_relevant(fact)]
    texts = "\n".join(fact.text for fact in (*static[:AGGREGATION_CANDIDATES], *dynamic[:AGGREGATION_CANDIDATES]))
    # Who somebody is, `my son Ben`, is said by what is told of them too.
    static = [fact for fact in static if is_relevant(fact) and f"{fact.text} " not in texts]
    return ProfileSnapshot(
        static=_section_entries(static, chars),
        dynamic=_section_entries(dynamic, chars),
        buckets={name: _section_entries(_bucket_facts(members, today), chars) for name, members in buckets.items()},
    )


@lru_cache(maxsize=8192)
def static_priority(text: str, sources: int, valid_time_ms: int, worth: float = 0.0) -> int:
    """Return the priority of a static fact: identity first, then plain statements, sources, worth, and recency.

    >>> static_priority("Ada lives in Rome", 1, 0) > static_priority("Ada likes tea", 9, 10**9)
    True
    """
    strength = min(max(sources, 1), MAX_COUNTED_SOURCES)
    recent = min(max(valid_time_ms, 0), (1 << _VALID_TIME_BITS) - 1)
    return _pack_priority(_statement_rank(text), strength, min(max(round(worth), 0), MAX_WORTH), recent)


def static_priorities(
    texts: Sequence[str], sources: NDArray[np.int64], valid_times_ms: NDArray[np.int64], worths: NDArray[np.float32]
) -> NDArray[np.int64]:
    kinds = np.fromiter(map(_statement_rank, texts), np.int64, len(texts))
    strengths = np.clip(sources, 1, MAX_COUNTED_SOURCES)
    recent = np.clip(valid_times_ms, 0, (1 << _VALID_TIME_BITS) - 1)
    return _pack_priority(kinds, strengths, np.clip(np.round(worths), 0, MAX_WORTH).astype(np.int64), recent)


def _pack_priority(kind: N, strength: N, worth: N, recent: N) -> N:
    """Pack rank, source count, worth and time into one integer, most significant first."""
    return ((kind << 5 | strength) << 4 | worth) << _VALID_TIME_BITS | recent


def _statement_rank(text: str) -> int:
    """Return 3 for identity, 2 for that of relatives and things, 1 for plain statements, 0 otherwise."""
    if _IDENTITY.match(text):
        return 3 - text.partition(" ")[0].endswith("'s")
    return int(_SIMPLE_STATEMENT.match(text) is not None and text.count(" ") < _MAX_SIMPLE_STATEMENT_WORDS)


def _static_sort_key(fact: SectionFact) -> tuple[int, str]:
    return -static_priority(fact.text, len(fact.sources), fact.valid_time_ms, fact.worth), fact.id


def _recency_sort_key(fact: SectionFact) -> tuple[int, str]:
    return -fact.valid_time_ms, fact.id


def _current_facts(newest_first: Sequence[SectionFact], today: date) -> list[SectionFact]:
    """Return the facts that go on. "Now" is the day of the newest one, if all are old."""
    reference = min(max((_day(fact.valid_time_ms) for fact in newest_first), default=today), today)

    def current(max_age_days: int) -> list[SectionFact]:
        return [
            fact
            for fact in newest_first
            if is_current(fact.text, _day(fact.valid_time_ms), reference, today, max_age_days)
        ]

    found = current(MAX_CHANGE_AGE_DAYS)
    return found if len(found) >= MIN_DYNAMIC_FACTS else current(MAX_SPARSE_AGE_DAYS)[:MIN_DYNAMIC_FACTS]


def _bucket_facts(newest_first: Sequence[SectionFact], today: date) -> list[SectionFact]:
    current = {fact.id for fact in _current_facts([fact for fact in newest_first if not fact.is_static], today)}
    return [fact for fact in newest_first if fact.is_static or fact.id in current]


def _subject_filter(facts: Sequence[SectionFact], today: date) -> Callable[[SectionFact], bool]:
    """Return whether a fact is about the subjects of these facts, somebody they mention, or planned."""
    subjects = subjects_of(fact.text for fact in facts)
    known = subjects.union(*(names_in(fact.text) for fact in facts if leading_name(fact.text) in subjects))

    def is_relevant(fact: SectionFact) -> bool:
        if not is_clear(fact.text):
            return False
        name = leading_name(fact.text)
        if not subjects or name in known or not subjects.isdisjoint(names_in(fact.text)):
            return True
        return is_planned(fact.text, _day(fact.valid_time_ms), today)

    return is_relevant


def _day(valid_time_ms: int) -> date:
    return from_microseconds(min(max(valid_time_ms, 0), _LATEST_MS) * 1000).date()


def _section_entries(facts: Sequence[SectionFact], max_chars: int) -> Sequence[ProfileEntry]:
    return _entries_within_limits(tuple((fact.id, fact.text) for fact in facts[:AGGREGATION_CANDIDATES]), max_chars)


@lru_cache(maxsize=128)
def _entries_within_limits(facts: Sequence[tuple[str, str]], max_chars: int) -> Sequence[ProfileEntry]:
    """Return aggregated entries within the limits of a section; cached, as most sections rarely change."""
    shown: list[ProfileEntry] = []
    chars_left = max_chars
    for entry in aggregate_facts([ProfileEntry(id_, text) for id_, text in facts]):
        chars_left -= len(entry.text)
        if len(shown) == MAX_FACTS_PER_SECTION or (chars_left < 0 and shown):
            break
        shown.append(entry)
    return shown
