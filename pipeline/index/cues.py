"""What a question asks for besides its words: a time, a number, several things, somebody's own words."""

import math
import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from pipeline.index.parameters import DATE, DATE_DAYS, NUMBER, SPEAKER, TIME
from pipeline.index.parts import ScorePart
from pipeline.memory.dates import When, dated
from pipeline.text.terms import words

_WHEN = re.compile(
    r"\s*(?:(?:since|until|by)\s+)?(?:when|how\s+(?:long|recently)|(?:what|which|in\s+(?:what|which)|on\s+(?:what|which))"
    r"\s+(?:year|month|week|day|date|time|season)s?)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\s*how\s+(?:many|much|often|old|far|tall|big|large|high|heavy)\b", re.IGNORECASE)
# "What pets does Ann have?", "What are her plans?", "what do they both like"; not "What does Ann's dog eat?".
_SEVERAL = re.compile(
    r"""\b(?:
        (?:what|which)\s+(?:(?!(?:do|did|does|is|was|has)\b)[\w+'-]+\s+){0,2}?
        (?!(?:does|is|was|has|this|his)\b|\w+(?:ss|us|is)\b)\w{2,}s\b(?!')
      | (?:what|which|who)\s+(?:are|were)\b | both\b | how\s+many\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this|since|recently|soon|morning|evening"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|(?:19|20)\d\d|week(?:end)?s?|months?|years?|days?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|once|twice|couple|few|several|many)\b",
    re.IGNORECASE,
)
LONGEST_NAME = 40
"""Characters before the colon after a speaker's name."""


@dataclass(frozen=True, slots=True)
class Cues:
    """What a question asks for. `words`: its own, folded, among which names of speakers may be.

    `times`: those it speaks of with their year. `several`: it asks for more than one thing.
    """

    words: frozenset[str]
    when: bool
    how_many: bool
    times: tuple[When, ...] = ()
    several: bool = False

    @classmethod
    def of(cls, query: str, today: date | None = None) -> "Cues":
        """What a query asks for, in English; `today`: from where it says "last week".

        >>> Cues.of("When did Ann move?").when
        True
        """
        times = dated(query, today).times
        return cls(
            words=frozenset(words(query)),
            when=bool(_WHEN.match(query)),
            how_many=bool(_HOW_MANY.match(query)),
            times=times,
            several=bool(_SEVERAL.search(query)),
        )

    def nearness(self, day: date) -> float:
        """What a document of that day gains: most in the time asked about, less with each day around it."""
        away = min((_days_between(when, day) for when in self.times), default=None)
        return 0.0 if away is None else DATE * math.exp(-away / DATE_DAYS)

    @property
    def anywhere(self) -> bool:
        """Whether any text may gain something, and not only one that names a speaker at its beginning."""
        return self.when or self.how_many

    def gains(self, text: str) -> list[tuple[ScorePart, float]]:
        """What a text gains by the others."""
        gained: list[tuple[ScorePart, float]] = []
        if spoken := self._spoken(text):
            gained.append(("speaker", SPEAKER * spoken))
        if self.when and _TIME.search(text):
            gained.append(("time", TIME))
        if self.how_many and _NUMBER.search(text):
            gained.append(("number", NUMBER))
        return gained

    def _spoken(self, text: str) -> float:
        """The share of a text that stands in lines of somebody the question names (`Name: text`)."""
        if ":" not in text[:LONGEST_NAME]:
            return 0.0
        said, speaks = 0, False
        for line in text.split("\n"):
            name, colon, _ = line[:LONGEST_NAME].partition(":")
            if colon:
                speaks = not self.words.isdisjoint(_names(name))
            said += len(line) * speaks
        return said / len(text)


@lru_cache(maxsize=1024)
def _names(name: str) -> frozenset[str]:
    """The words of a speaker's name; the same few speak in all lines of a conversation."""
    return frozenset(words(name))


def _days_between(when: When, day: date) -> int:
    return max((when.first - day).days, (day - when.last).days, 0)
