"""Parsing of written times into components, and conflicts between two times."""

import re

from pipeline.text.english_verbs import word_set
from pipeline.text.temporal_expressions import DAYS, MONTHS

_MONTHS = tuple(map(str.lower, MONTHS))
_MONTH = {name: name for name in _MONTHS} | {name[:3]: name for name in _MONTHS} | {"sept": "september"}
_DAY = {name: name for name in DAYS} | {f"{name}s": name for name in DAYS} | {name[:3]: name for name in DAYS}
_PART = {
    **dict.fromkeys(("morning", "afternoon", "evening", "night", "noon", "midnight"), "part"),
    **dict.fromkeys(("spring", "summer", "autumn", "fall", "winter"), "season"),
    **dict.fromkeys(("q1", "q2", "q3", "q4"), "quarter"),
    **dict.fromkeys(("today", "tomorrow", "tonight"), "near"),
}
CANCELLED = "cancelled"
_FILLING = word_set("on at in by the of early late mid end beginning next this o'clock from for around")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s?(am|pm|a\.m\.|p\.m\.|h|o'clock)?")
_ISO = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d{2}")


def time_components(text: str) -> dict[str, str]:
    """Return the components of a time by name; empty if any part is not a time.

    >>> time_components("tuesday, 12 may at 10:30")
    {'weekday': 'tuesday', 'day': '12', 'month': 'may', 'clock': '10:30'}
    """
    if text == CANCELLED:
        return {CANCELLED: CANCELLED}
    components: dict[str, str] = {}
    tokens = text.replace(",", " ").split()
    for at, token in enumerate(tokens):
        component = _part(token, tokens, at)
        if component is None:
            return {}
        components.update(component)
    return components


def _part(token: str, tokens: list[str], at: int) -> dict[str, str] | None:
    before = tokens[at - 1] if at else ""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    if token in _DAY:
        return {"weekday": _DAY[token]}
    if token in _MONTH:
        return {"month": _MONTH[token]}
    if token in _PART:
        return {_PART[token]: token}
    if token in _FILLING or token in ("am", "pm", "a.m.", "p.m."):
        return {}
    if iso := _ISO.fullmatch(token):
        year, month, day = iso.groups()
        return {"year": year, "month": _MONTHS[(int(month) - 1) % 12]} | ({"day": str(int(day))} if day else {})
    if _YEAR.fullmatch(token):
        return {"year": token}
    by_month = before in _MONTH or after in _MONTH or (after == "of" and at + 2 < len(tokens))
    if by_month and (day := _ORDINAL.fullmatch(token)):
        return {"day": day[1]}
    if clock := _CLOCK.fullmatch(token):
        return {"clock": _clock(clock, after)}
    return {"day": ordinal[1]} if (ordinal := _ORDINAL.fullmatch(token)) else None


def _clock(match: re.Match[str], after: str) -> str:
    hour, minute, half = int(match[1]), match[2] or "00", (match[3] or after).replace(".", "")
    if half == "pm" and hour < 12:
        hour += 12
    return f"{hour}:{minute}"


def times_conflict(new: str, old: str) -> bool:
    """Return whether two times of one thing cannot both be true: a common component differs.

    >>> times_conflict("sunday", "saturday"), times_conflict("8 pm", "saturday")
    (True, False)
    """
    ours, theirs = time_components(new), time_components(old)
    if not ours or not theirs:
        return False
    if CANCELLED in ours or CANCELLED in theirs:
        return ours != theirs
    return any(ours[component] != theirs[component] for component in ours.keys() & theirs.keys())
