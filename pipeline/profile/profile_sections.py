"""Rules for the sections of a profile: what is shown, in which order, and how much. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.profile.fact_aggregation import ProfileEntry, aggregate_facts

N = TypeVar("N", int, NDArray[np.int64])

MAX_FACTS_PER_SECTION = 20
"""Facts of one section."""
AGGREGATION_CANDIDATES = 5 * MAX_FACTS_PER_SECTION
"""Facts of a section among which equal statements are aggregated."""
MAX_SECTION_CHARS = 2_000
"""Characters of one section; two sections are about a thousand tokens."""
MAX_DYNAMIC_AGE_MS = 30 * 24 * 3600 * 1000
"""Age relative to the newest dynamic fact beyond which one is outdated…"""
MIN_DYNAMIC_FACTS = 5
"""…except this many of the newest."""
MAX_COUNTED_SOURCES = 31
"""Sources counted in a fact's priority."""
_IDENTITY = re.compile(
    r"^(?:\S+ ){1,4}?(?:is called|name is|is named|goes by|(?:now |currently )?(?:lives|is based|resides) in|"
    r"(?:now |currently )?works (?:at|as|for)|is (?:a|an) [\w ]+ (?:at|by profession)|is from|was born|"
    r"comes from|grew up|is (?:now )?married|is \d+ years old|birthday is|'s (?:name|birthday|age|job) is)\b"
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
    buckets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProfileSnapshot:
    """The contents of a profile, the most important entries of each section first."""

    static: Sequence[ProfileEntry] = ()
    dynamic: Sequence[ProfileEntry] = ()
    buckets: Mapping[str, Sequence[ProfileEntry]] = field(default_factory=dict)


def build_profile(facts: Iterable[SectionFact], bucket_names: Iterable[str], now_ms: int) -> ProfileSnapshot:
    """Build the profile of these facts with these buckets; `now_ms` in milliseconds."""
    newest = sorted(facts, key=_recency_sort_key)
    return build_profile_from_ordered(
        sorted((fact for fact in newest if fact.is_static), key=_static_sort_key),
        [fact for fact in newest if not fact.is_static],
        {name: [fact for fact in newest if name in fact.buckets] for name in bucket_names},
        now_ms,
    )


def build_profile_from_ordered(
    static: Sequence[SectionFact],
    dynamic: Sequence[SectionFact],
    buckets: Mapping[str, Sequence[SectionFact]],
    now_ms: int,
) -> ProfileSnapshot:
    """Build a profile of ordered facts: static ones by `static_priority`, others newest first."""
    return ProfileSnapshot(
        static=_section_entries(static),
        dynamic=_section_entries(_drop_outdated(dynamic, now_ms)),
        buckets={name: _section_entries(members) for name, members in buckets.items()},
    )


@lru_cache(maxsize=8192)
def static_priority(text: str, sources: int, valid_time_ms: int) -> int:
    """Return the priority of a static fact: identity first, then plain statements, sources, and recency.

    >>> static_priority("Ada lives in Rome", 1, 0) > static_priority("Ada likes tea", 9, 10**9)
    True
    """
    strength = min(max(sources, 1), MAX_COUNTED_SOURCES)
    recent = min(max(valid_time_ms, 0), (1 << _VALID_TIME_BITS) - 1)
    return _pack_priority(_statement_rank(text), strength, recent)


def static_priorities(
    texts: Sequence[str], sources: NDArray[np.int64], valid_times_ms: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the priorities of many facts."""
    kinds = np.fromiter(map(_statement_rank, texts), np.int64, len(texts))
    strengths = np.clip(sources, 1, MAX_COUNTED_SOURCES)
    recent = np.clip(valid_times_ms, 0, (1 << _VALID_TIME_BITS) - 1)
    return _pack_priority(kinds, strengths, recent)


def _pack_priority(kind: N, strength: N, recent: N) -> N:
    """Pack rank, source count and time into one integer, most significant first."""
    return (kind << 5 | strength) << _VALID_TIME_BITS | recent


def _statement_rank(text: str) -> int:
    """Return 2 for identity, 1 for plain statements, 0 otherwise."""
    if _IDENTITY.match(text):
        return 2
    return int(_SIMPLE_STATEMENT.match(text) is not None and text.count(" ") < _MAX_SIMPLE_STATEMENT_WORDS)


def _static_sort_key(fact: SectionFact) -> tuple[int, str]:
    return -static_priority(fact.text, len(fact.sources), fact.valid_time_ms), fact.id


def _recency_sort_key(fact: SectionFact) -> tuple[int, str]:
    return -fact.valid_time_ms, fact.id


def _drop_outdated(newest_first: Sequence[SectionFact], now: int) -> list[SectionFact]:
    """Drop facts much older than the newest one. If all are old, the newest remain."""
    if not newest_first:
        return []
    reference = min(newest_first[0].valid_time_ms, now)
    return [
        fact
        for position, fact in enumerate(newest_first)
        if position < MIN_DYNAMIC_FACTS or reference - fact.valid_time_ms <= MAX_DYNAMIC_AGE_MS
    ]


def _section_entries(facts: Sequence[SectionFact]) -> Sequence[ProfileEntry]:
    return _entries_within_limits(tuple((fact.id, fact.text) for fact in facts[:AGGREGATION_CANDIDATES]))


@lru_cache(maxsize=128)
def _entries_within_limits(facts: Sequence[tuple[str, str]]) -> Sequence[ProfileEntry]:
    """Return aggregated entries within the limits of a section; cached, as most sections rarely change."""
    shown: list[ProfileEntry] = []
    chars_left = MAX_SECTION_CHARS
    for entry in aggregate_facts([ProfileEntry(id_, text) for id_, text in facts]):
        chars_left -= len(entry.text)
        if len(shown) == MAX_FACTS_PER_SECTION or (chars_left < 0 and shown):
            break
        shown.append(entry)
    return shown
