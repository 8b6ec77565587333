"""Memories that say their own end: "on leave until Friday", "has an exam on 23 November"."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

ANYWHERE = timedelta(hours=12)
"""A day has ended when it has ended everywhere on earth: UTC-12 is the last."""
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|made|took|came|left|ended|expired|didn't|wasn't|weren't|stayed|lived|"
    r"worked|used to|since)\b"
)
_AGAIN = re.compile(
    r"\b(?:every|each|annual(?:ly)?|yearly|weekly|monthly|birthday|anniversary|usually|always)\b",
    re.IGNORECASE,
)
_OCCASION = (
    r"(?:exam|test|quiz|interview|appointment|meeting|call|flight|train|presentation|talk|rehearsal|audition|"
    r"check-up|checkup|surgery|operation|hearing|viewing|delivery|dinner|lunch|breakfast|date|match|game|race|"
    r"concert|party|deadline|class|lesson|shift|session|reservation|webinar|workshop|stand-up|standup|demo)"
)
_DAY = r"(?:on |at |in |for |by )?(?:the (?:morning|afternoon|evening|night|week|weekend) of |\w+day,? )?\d"
_SAYS_END = re.compile(
    r"\b(?:until|till|through|no later than|valid (?:to|through|until)|expires? (?:on|in|at)|"
    r"(?:ends?|runs out|is due|closes) (?:on|in|at|by))\b",
    re.IGNORECASE,
)
_IS_AN_OCCASION = re.compile(
    rf"\b(?:has|have|'s got|is having|are having|will have|is|are|will be|leaves|starts|begins|takes place)\b"
    rf".*\b{_OCCASION}\b.*?\b{_DAY}|"
    rf"\b{_OCCASION}\b.*\b(?:is|are|will be|leaves|starts|begins|takes place)\b {_DAY}",
    re.IGNORECASE,
)
_IS_FOR_NOW = re.compile(
    r"\b(?:is|are|will be) (?:on (?:vacation|holiday|leave|a break|a trip|a business trip|call|duty)|away|"
    rf"out of (?:the )?office|off(?: sick)?|off work|sick|travell?ing|working from home)\b.*?\b{_DAY}",
    re.IGNORECASE,
)


def end(text: str, event_dates: Sequence[str], said: datetime) -> datetime | None:
    """When a memory is over by its own words; None for one that says no end, or tells what was.

    A date before it was `said` is no end of what is so then: its year was guessed, or it is a slip.

    >>> end("User is on vacation until 27 November 2026", ["2026-11-27"], datetime(2026, 11, 22, tzinfo=UTC))
    datetime.datetime(2026, 11, 28, 12, 0, tzinfo=datetime.timezone.utc)
    """
    if not event_dates or _PAST.search(text) or _AGAIN.search(text):
        return None
    if not any(says.search(text) for says in (_SAYS_END, _IS_AN_OCCASION, _IS_FOR_NOW)):
        return None
    last = max((day for one in event_dates if (day := _last_day(one)) is not None), default=None)
    if last is None or last < said.date() or last >= date.max - timedelta(days=2):
        return None
    return datetime.combine(last + timedelta(days=1), time(tzinfo=UTC)) + ANYWHERE


def _last_day(written: str) -> date | None:
    """The last day of a day, a month, a year or an interval (ISO 8601)."""
    said = written.rsplit("/", maxsplit=1)[-1]
    year, _, rest = said.partition("-")
    month, _, day = rest.partition("-")
    try:
        if day:
            return date.fromisoformat(said)
        if month:
            return date(int(year) + int(month) // 12, int(month) % 12 + 1, 1) - timedelta(days=1)
        return date(int(year), 12, 31)
    except (ValueError, OverflowError):
        return None
