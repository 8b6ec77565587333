"""The day from which a question says "last week": the one it names itself, else the one it is asked on."""

import re
from datetime import date

from pipeline.text.temporal_expressions import resolve_dates

_AS_OF_PREFIX = re.compile(
    r"^\s*(?:as\s+of|(?:today|now)\s+is|today:|it(?:'s|\s+is)(?:\s+now)?|on)\s+(?P<day>[^.:;?!]{6,40}?)\s*[,.:;]\s*"
    r"(?=\S.{5})",
    re.IGNORECASE | re.DOTALL,
)


def resolve_reference_date(query: str, today: date) -> tuple[str, date]:
    """Return the question without the date that it names as its reference, and that date.

    >>> resolve_reference_date("As of 8 May 2023, what did Ann do last Friday?", date(2026, 1, 1))
    ('what did Ann do last Friday?', datetime.date(2023, 5, 8))
    """
    found = _AS_OF_PREFIX.match(query)
    times = resolve_dates(found["day"], None).date_ranges if found else ()
    if found is None or len(times) != 1 or times[0].first != times[0].last:
        return query, today
    return query[found.end() :], times[0].first
