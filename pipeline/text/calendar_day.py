"""The calendar day that a text names without doubt."""

import re
from collections.abc import Iterable
from datetime import date, datetime

_FORMS = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})")
_WORDED = re.compile(r"\d{1,2}\.? [A-Za-z]{3,9}\.?,? \d{4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_AMERICAN_CLOCK = re.compile(r"\d[ \u202f]?[AP]M\b")
_CENTURY = 2000


def parse_calendar_day(written: str, *, day_first: bool | None = None) -> date | None:
    """Return the first day that a text names; without `day_first`, 5/8/2023 may be one of two, so it is none.

    >>> parse_calendar_day("[2023-05-08 13:56]"), parse_calendar_day("5/8/2023")
    (datetime.date(2023, 5, 8), None)
    """
    try:
        if iso := _ISO.search(written):
            return date.fromisoformat(iso[0])
        if slashed := _SLASHED.search(written):
            return _slashed(int(slashed[1]), slashed[2], int(slashed[3]), int(slashed[4]), day_first=day_first)
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


def titled_day(text: str, before: date) -> date | None:
    """Return the day in the first line of a journal, which may leave out its year; None for one after `before`.

    >>> titled_day("Journal, 3 Nov, rainy", date(2026, 11, 27)), titled_day("3 Dec: dentist", date(2026, 11, 27))
    (datetime.date(2026, 11, 3), None)
    """
    match = _TITLED.match(text)
    if match is None:
        return None
    day, month = (match["day"], match["month"]) if match["day"] else (match["last"], match["first"])
    named = parse_calendar_day(f"{day} {month[:3]} {match['year'] or before.year}")
    if named is not None and named > before and match["year"] is None and (named - before).days > _HALF_A_YEAR:
        named = parse_calendar_day(f"{day} {month[:3]} {before.year - 1}")
    return named if named is not None and named <= before else None


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_TITLED = re.compile(
    rf"[\W_]*+(?:(?:(?:my|dear) )?(?:journal|diary|log|entry)\b[\W_]*+)?(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|"
    rf"sat(?:ur)?|sun)(?:day)?\.?,? )?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?P<month>{_MONTH})|(?P<first>{_MONTH}) "
    r"(?P<last>\d{1,2})(?:st|nd|rd|th)?)\.?(?:,? (?P<year>\d{4}))?(?=[,.][ \n]|[*_# ]*\n)",
    re.IGNORECASE,
)
_HALF_A_YEAR = 183


def is_day_first(stamps: Iterable[str]) -> bool | None:
    """Return whether 5/8/2023 is in August in these stamps of one chat: by a day after the twelfth, or by the clock.

    AM and PM in capitals are American; so may be a day without a zero before it, beside a clock of 24 hours.

    >>> is_day_first(["5/8/23, 09:12", "13/8/23, 10:40"]), is_day_first(["5/8/23, 6:02 PM"])
    (True, False)
    >>> is_day_first(["05/08/23, 18:02"]), is_day_first(["5/8/23, 18:02"])
    (True, None)
    """
    written = list(stamps)
    slashed = [found for stamp in written if (found := _SLASHED.search(stamp))]
    if any(int(found[1]) > 12 for found in slashed):
        return True
    if any(int(found[3]) > 12 for found in slashed) or any(map(_AMERICAN_CLOCK.search, written)):
        return False
    return True if any(found[1][0] == "0" or found[3][0] == "0" for found in slashed) else None


def _slashed(first: int, mark: str, second: int, year: int, *, day_first: bool | None) -> date | None:
    year += _CENTURY if year < 100 else 0
    if first > 12 or mark == ".":
        return date(year, second, first)
    if second > 12 or day_first is not None:
        return date(year, second, first) if day_first and second <= 12 else date(year, first, second)
    return None
