"""Expiration dates that memories state themselves: "on leave until Friday", "has an exam on 23 November"."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from pipeline.text.temporal_expressions import MONTHS

WESTERNMOST_UTC_OFFSET = timedelta(hours=12)
"""UTC-12, the last zone in which a day ends."""
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|made|took|came|left|ended|expired|didn't|wasn't|weren't|stayed|lived|"
    r"worked|used to|since)\b"
)
_RECURRING = re.compile(
    r"\b(?:every|each|annual(?:ly)?|yearly|weekly|monthly|birthday|anniversary|usually|always)\b", re.IGNORECASE
)
_OCCASION = (
    r"(?:exam|test|quiz|interview|appointment|meeting|call|flight|train|presentation|talk|rehearsal|audition|check-up|"
    r"checkup|surgery|operation|hearing|viewing|delivery|dinner|lunch|breakfast|date|match|game|race|concert|party|"
    r"deadline|class|lesson|shift|session|reservation|webinar|workshop|stand-up|standup|demo)"
)
_DAY = r"(?:on |at |in |for |by )?(?:the (?:morning|afternoon|evening|night|week|weekend) of |\w+day,? )?\d"
_STATED_END = re.compile(
    r"\b(?:until|till|through|no later than|valid (?:to|through|until)|expires? (?:on|in|at)|"
    r"(?:ends?|runs out|is due|closes) (?:on|in|at|by))\b",
    re.IGNORECASE,
)
_DATED_OCCASION = re.compile(
    rf"\b(?:has|have|'s got|is having|are having|will have|is|are|will be|leaves|starts|begins|takes place)\b"
    rf".*\b{_OCCASION}\b.*?\b{_DAY}|"
    rf"\b{_OCCASION}\b.*\b(?:is|are|will be|leaves|starts|begins|takes place)\b {_DAY}",
    re.IGNORECASE,
)
_TEMPORARY_STATE = re.compile(
    r"\b(?:is|are|will be) (?:on (?:vacation|holiday|leave|a break|a trip|a business trip|call|duty)|away|"
    rf"out of (?:the )?office|off(?: sick)?|off work|sick|travell?ing|working from home)\b.*?\b{_DAY}",
    re.IGNORECASE,
)


_NAMED_DAY = re.compile(
    rf"(?P<week>week of )?(?:\b(?P<day>\d{{1,2}}) )?\b(?P<month>{'|'.join(MONTHS)})\b(?: (?P<year>\d{{4}})\b)?"
)


def expiration_time(text: str, event_dates: Sequence[str], stated_at: datetime) -> datetime | None:
    """Return when a memory expires by its own words; None if it states no end or describes the past.

    A date before `stated_at` is ignored: its year was guessed, or it is a slip of the pen.

    >>> stated_at = datetime(2026, 11, 22, tzinfo=UTC)
    >>> expiration_time("User is on leave until 27 November 2026", ["2026-11-27"], stated_at)
    datetime.datetime(2026, 11, 28, 12, 0, tzinfo=datetime.timezone.utc)
    """
    if not event_dates or _PAST.search(text) or _RECURRING.search(text):
        return None
    if not any(pattern.search(text) for pattern in (_STATED_END, _DATED_OCCASION, _TEMPORARY_STATE)):
        return None
    last = max((day for event_date in event_dates if (day := _last_day(event_date)) is not None), default=None)
    if last is None or last < stated_at.date() or last >= date.max - timedelta(days=2):
        return None
    return datetime.combine(last + timedelta(days=1), time(tzinfo=UTC)) + WESTERNMOST_UTC_OFFSET


def takes_effect(text: str, stated_at: datetime) -> datetime | None:
    """Return when the last day that a plan names has begun everywhere; None if it names none.

    Of a month or week it is the last day. A day without a year is the next one.

    >>> takes_effect("User is starting at Pret in January", datetime(2026, 11, 22, tzinfo=UTC))
    datetime.datetime(2027, 1, 31, 12, 0, tzinfo=datetime.timezone.utc)
    """
    *_, named = [None, *_NAMED_DAY.finditer(text)]
    if named is None:
        return None
    month = MONTHS.index(named["month"]) + 1
    years = (int(named["year"]),) if named["year"] else (stated_at.year, stated_at.year + 1)
    for year in years:
        day = _last_day(f"{year}-{month:02}" + (f"-{int(named['day']):02}" if named["day"] else ""))
        if day is not None and (named["year"] or day >= stated_at.date()):
            day += timedelta(days=6 if named["week"] else 0)
            return datetime.combine(day, time(tzinfo=UTC)) + WESTERNMOST_UTC_OFFSET
    return None


def _last_day(iso_date: str) -> date | None:
    """Return the last day of an ISO 8601 day, month, year or interval."""
    end = iso_date.rsplit("/", maxsplit=1)[-1]
    year, _, rest = end.partition("-")
    month, _, day = rest.partition("-")
    try:
        if day:
            return date.fromisoformat(end)
        if month:
            return date(int(year) + int(month) // 12, int(month) % 12 + 1, 1) - timedelta(days=1)
        return date(int(year), 12, 31)
    except (ValueError, OverflowError):
        return None
