"""Days that a statement names, for readers of results. Pure."""

import re
from datetime import timedelta
from functools import lru_cache
from typing import Any

from pipeline.text.temporal_expressions import DateRange, resolve_dates

CACHED_TEXTS = 4096
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LONGER = re.compile(r"\b(?:(?P<week>week)|weekend) of (?P<day>\d{1,2} \w+ \d{4})\b")


def event_metadata(text: str) -> dict[str, Any]:
    """Return `eventDates` of a memory's metadata: ISO 8601 days, months, years or intervals; empty if it names none.

    >>> event_metadata("Ann moved to Rome in the week of 1 May 2023"), event_metadata("Ann lives in Rome")
    ({'eventDates': ['2023-05-01/2023-05-07']}, {})
    """
    dates = _event_dates(text) if _YEAR.search(text) else ()
    return {"eventDates": list(dates)} if dates else {}


@lru_cache(maxsize=CACHED_TEXTS)
def _event_dates(text: str) -> tuple[str, ...]:
    lengths = {match["day"]: 6 if match["week"] else 1 for match in _LONGER.finditer(text)}
    longer = {
        date_range.first: DateRange(date_range.first, date_range.first + timedelta(days=days))
        for day, days in lengths.items()
        for date_range in resolve_dates(day, None).date_ranges
    }
    found = resolve_dates(text, None).date_ranges
    return tuple(dict.fromkeys(longer.get(each.first, each).iso8601 for each in found))
