"""The calendar day that a text names without doubt."""

import re
from datetime import date, datetime

_FORMS = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})")
_WORDED = re.compile(r"\d{1,2}\.? [A-Za-z]{3,9}\.?,? \d{4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_CENTURY = 2000


def parse_calendar_day(written: str) -> date | None:
    """Return the first day that a text names without doubt: 5/8/2023 may be one of two, so it is none.

    >>> parse_calendar_day("[2023-05-08 13:56]"), parse_calendar_day("5/8/2023")
    (datetime.date(2023, 5, 8), None)
    """
    try:
        if iso := _ISO.search(written):
            return date.fromisoformat(iso[0])
        if slashed := _SLASHED.search(written):
            return _slashed(int(slashed[1]), slashed[2], int(slashed[3]), int(slashed[4]))
    except ValueError:
        return None
    worded = _WORDED.search(written)
    plain = re.sub("[,.]", "", worded[0]) if worded else ""
    for form in _FORMS:
        try:
            return datetime.strptime(plain, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    return None


def _slashed(first: int, mark: str, second: int, year: int) -> date | None:
    year += _CENTURY if year < 100 else 0
    if first > 12 or mark == ".":
        return date(year, second, first)
    return date(year, first, second) if second > 12 else None
