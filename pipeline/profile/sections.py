"""The sections of a profile: pure rules of what is shown, in which order, and how much of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.profile.aggregates import Stated, aggregated

N = TypeVar("N", int, NDArray[np.int64])

FACTS = 20
"""Facts of a section, at most."""
LOOKED_AT = 5 * FACTS
"""Facts of a section among which some are found that say one thing."""
CHARACTERS = 2_000
"""Of a section: two of them are about a thousand tokens."""
FADING_MS = 30 * 24 * 3600 * 1000
"""What is so much older than the newest of what is going on is no longer going on…"""
LEAST = 5
"""…but so many of the newest are shown whatever their age."""
STRONGEST = 31
"""More sources than that say nothing more."""
_IDENTITY = re.compile(
    r"^(?:\S+ ){1,4}?(?:is called|name is|is named|goes by|(?:now |currently )?(?:lives|is based|resides) in|"
    r"(?:now |currently )?works (?:at|as|for)|is (?:a|an) [\w ]+ (?:at|by profession)|is from|was born|"
    r"comes from|grew up|is (?:now )?married|is \d+ years old|birthday is|'s (?:name|birthday|age|job) is)\b"
)
"""Who somebody is: what nobody would leave out, however long ago it was said."""
_PLAIN = re.compile(
    r"^[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2} (?:"
    r"is (?:a|an|the|allergic to|afraid of|married to|learning|good at)|never|"
    r"(?:really )?(?:likes|loves|enjoys|prefers|dislikes|hates|speaks|plays|owns|has|collects|knows|uses)|"
    r"studies|studied|drives|eats|drinks|doesn't (?:like|eat|drink|have)) "
)
"""What somebody is, has, likes or can, said in so many words…"""
_FEW_WORDS = 12
"""…comes before what takes more of them to say."""
_WHEN_BITS = 48
"""Milliseconds of the years up to 9999 fit."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A memory as a profile knows it. `when`: the time it speaks of, in milliseconds since 1970 UTC."""

    id: str
    text: str
    when: int
    is_static: bool
    sources: tuple[str, ...] = ()
    buckets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Portrait:
    """What a profile shows: ids and texts, the most important first in every section."""

    static: Sequence[Stated] = ()
    dynamic: Sequence[Stated] = ()
    buckets: Mapping[str, Sequence[Stated]] = field(default_factory=dict)


def portrait(facts: Iterable[Fact], names: Iterable[str], now: int) -> Portrait:
    """The profile that these facts make, with these buckets; `now` in milliseconds."""
    newest = sorted(facts, key=_newest_first)
    return drawn(
        sorted((one for one in newest if one.is_static), key=_lasting_first),
        [one for one in newest if not one.is_static],
        {name: [one for one in newest if name in one.buckets] for name in names},
        now,
    )


def drawn(
    lasting: Sequence[Fact], passing: Sequence[Fact], buckets: Mapping[str, Sequence[Fact]], now: int
) -> Portrait:
    """The profile of facts in order already: what lasts as `durability` says, all else newest first."""
    return Portrait(
        static=_shown(lasting),
        dynamic=_shown(_going_on(passing, now)),
        buckets={name: _shown(members) for name, members in buckets.items()},
    )


@lru_cache(maxsize=8192)
def durability(text: str, sources: int, when: int) -> int:
    """How early a lasting fact is shown: who somebody is, then what is plain, what most say, and the newest.

    >>> durability("Ada lives in Rome", 1, 0) > durability("Ada likes tea", 9, 10**9)
    True
    """
    strength = min(max(sources, 1), STRONGEST)
    recent = min(max(when, 0), (1 << _WHEN_BITS) - 1)
    return _in_order(_kind(text), strength, recent)


def durabilities(
    texts: Sequence[str], sources: NDArray[np.int64], whens: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The same of many facts."""
    kinds = np.fromiter(map(_kind, texts), np.int64, len(texts))
    strengths = np.clip(sources, 1, STRONGEST)
    recent = np.clip(whens, 0, (1 << _WHEN_BITS) - 1)
    return _in_order(kinds, strengths, recent)


def _in_order(kind: N, strength: N, recent: N) -> N:
    """One number, by which the first of these decides, then the second."""
    return (kind << 5 | strength) << _WHEN_BITS | recent


def _kind(text: str) -> int:
    """2: who somebody is; 1: what somebody is, has, likes or can; 0: all else."""
    if _IDENTITY.match(text):
        return 2
    return int(_PLAIN.match(text) is not None and text.count(" ") < _FEW_WORDS)


def _lasting_first(fact: Fact) -> tuple[int, str]:
    return -durability(fact.text, len(fact.sources), fact.when), fact.id


def _newest_first(fact: Fact) -> tuple[int, str]:
    return -fact.when, fact.id


def _going_on(newest_first: Sequence[Fact], now: int) -> list[Fact]:
    """Without what has faded: old beside what came since. When all is long ago, the last of it stays."""
    if not newest_first:
        return []
    reference = min(newest_first[0].when, now)
    return [
        one for place, one in enumerate(newest_first) if place < LEAST or reference - one.when <= FADING_MS
    ]


def _shown(facts: Sequence[Fact]) -> Sequence[Stated]:
    return _said(tuple((fact.id, fact.text) for fact in facts[:LOOKED_AT]))


@lru_cache(maxsize=128)
def _said(facts: Sequence[tuple[str, str]]) -> Sequence[Stated]:
    """As few statements as say it all, within the bounds of a section; a change leaves most as they were."""
    shown: list[Stated] = []
    left = CHARACTERS
    for one in aggregated([Stated(id_, text) for id_, text in facts]):
        left -= len(one.text)
        if len(shown) == FACTS or (left < 0 and shown):
            break
        shown.append(one)
    return shown
