"""Query intent features: a time, a number, several things, or the words of a named speaker are asked for."""

import math
import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from pipeline.index.ranking.ranking_parameters import (
    DATE_BOOST,
    DATE_DECAY_DAYS,
    NUMBER_BOOST,
    SPEAKER_BOOST,
    TIME_BOOST,
)
from pipeline.index.ranking.search_request_and_hits import ScoreFactor
from pipeline.text.analyzer import words
from pipeline.text.statement_words import (
    asked_relations,
    asks_about_asker,
    asks_about_asker_alone,
    asks_for_contact,
    asks_for_number,
    asks_for_person,
    asks_when,
    named_beings,
    names_somebody,
    names_two_relatives,
    says_time,
)
from pipeline.text.succession import tells_of_plan
from pipeline.text.temporal_expressions import DateRange, resolve_dates

_ASKS_WHEN = re.compile(
    r"\s*(?:(?:since|until|by)\s+)?(?:when|how\s+(?:long(?!\s+(?:should|can|could|may|must)\b)|recently)"
    r"|(?:what|which|in\s+(?:what|which)|on\s+(?:what|which))"
    r"\s+(?:year|month|week|day|date|time|season)s?)\b",
    re.IGNORECASE,
)
_ASKS_QUANTITY = re.compile(r"\s*how\s+(?:many|much|often|old|far|tall|big|large|high|heavy)\b", re.IGNORECASE)
# "What pets does Ann have?", "What are her plans?", "what do they both like"; not "What does Ann's dog eat?".
_ASKS_FOR_SEVERAL = re.compile(
    r"""\b(?:
        (?:what|which)\s+(?:(?!(?:do|did|does|is|was|has)\b)[\w+'-]+\s+){0,2}?
        (?!(?:does|is|was|has|this|his)\b|\w+(?:ss|us|is)\b)\w{2,}s\b(?!')
      | (?:what|which|who)\s+(?:are|were)\b | both\b | how\s+many\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_TIME_EXPRESSION = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this|since|recently|soon|morning|evening"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|(?:19|20)\d\d|week(?:end)?s?|months?|years?|days?)\b",
    re.IGNORECASE,
)
_NUMBER_WORD = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|once|twice|couple|few|several|many)\b",
    re.IGNORECASE,
)
MAX_SPEAKER_NAME_CHARS = 40
"""Longest speaker name, with its colon, at the beginning of a line."""


@dataclass(frozen=True, slots=True)
class QueryIntent:
    """The intent of a query. `query_words`: folded words of the query, which may be names of speakers."""

    query_words: frozenset[str]
    asks_when: bool
    asks_quantity: bool
    date_ranges: tuple[DateRange, ...] = ()
    """Times that the query names with their year."""
    asks_for_several: bool = False
    asks_about_asker: bool = False
    """Whether it names the asker (*I*, *my job*) and no relative or friend of theirs."""
    asks_about_asker_alone: bool = False
    """Whether it does so, and names nothing as the asker's (*Where do I live?*)."""

    names_somebody: bool = False
    """Whether it names a relative, or has a capitalized word that does not begin it."""
    asks_for_number: bool = False
    """Whether it asks for a phone number, an age, a price or the like."""
    asks_for_contact: str = ""
    """`phone` or `email` where it asks for such a number or address."""
    asks_for_person: bool = False
    """Whether it asks who somebody is."""

    asked_relations: frozenset[int] = frozenset()
    """The relation of the asker's relative or friend whom it is about (*my wife's job*)."""
    named_beings: frozenset[str] = frozenset()
    """The relations and the sorts of animals that it names; none where two relatives may mean a third."""
    asks_for_plan: bool = False
    """Whether it speaks of a plan or a wish."""

    @classmethod
    def parse(cls, query_text: str, reference_date: date | None = None) -> "QueryIntent":
        """Parse a query; `reference_date`: the day from which "last week" counts.

        >>> QueryIntent.parse("When did Ann move?").asks_when
        True
        """
        return cls(
            query_words=frozenset(words(query_text)),
            asks_when=bool(_ASKS_WHEN.match(query_text)) or asks_when(query_text),
            asks_quantity=bool(_ASKS_QUANTITY.match(query_text)),
            date_ranges=resolve_dates(query_text, reference_date).date_ranges,
            asks_for_several=bool(_ASKS_FOR_SEVERAL.search(query_text)),
            asks_about_asker=asks_about_asker(query_text),
            asks_about_asker_alone=asks_about_asker_alone(query_text),
            names_somebody=names_somebody(query_text),
            asks_for_number=asks_for_number(query_text),
            asks_for_contact=asks_for_contact(query_text),
            asks_for_person=asks_for_person(query_text),
            asked_relations=asked_relations(query_text),
            named_beings=frozenset() if names_two_relatives(query_text) else named_beings(query_text),
            asks_for_plan=tells_of_plan(query_text),
        )

    def date_boost(self, day: date) -> float:
        """The gain of a document of that day; it decays with the distance to the time asked about."""
        distance = min((_days_between(dates, day) for dates in self.date_ranges), default=None)
        return 0.0 if distance is None else DATE_BOOST * math.exp(-distance / DATE_DECAY_DAYS)

    @property
    def max_feature_score(self) -> float:
        """The most that `feature_scores` gives a text."""
        return SPEAKER_BOOST + TIME_BOOST * self.asks_when + NUMBER_BOOST * self.asks_quantity

    def feature_scores(self, text: str) -> list[tuple[ScoreFactor, float]]:
        """The gains of a text by speaker, time and number."""
        gains: list[tuple[ScoreFactor, float]] = []
        if share := self._speaker_share(text):
            gains.append(("speaker", SPEAKER_BOOST * share))
        if self.asks_when and (_TIME_EXPRESSION.search(text) or says_time(text)):
            gains.append(("time", TIME_BOOST))
        if self.asks_quantity and _NUMBER_WORD.search(text):
            gains.append(("number", NUMBER_BOOST))
        return gains

    def _speaker_share(self, text: str) -> float:
        """The share of a text that is spoken by somebody the query names (lines `Name: text`)."""
        if ":" not in text[:MAX_SPEAKER_NAME_CHARS]:
            return 0.0
        spoken_chars, named = 0, False
        for line in text.split("\n"):
            name, colon, _ = line[:MAX_SPEAKER_NAME_CHARS].partition(":")
            if colon:
                named = not self.query_words.isdisjoint(_name_words(name))
            spoken_chars += len(line) * named
        return spoken_chars / len(text)


@lru_cache(maxsize=1024)
def _name_words(name: str) -> frozenset[str]:
    """The words of a speaker's name, cached: few speakers say all lines of a conversation."""
    return frozenset(words(name))


def _days_between(dates: DateRange, day: date) -> int:
    return max((dates.first - day).days, (day - dates.last).days, 0)
