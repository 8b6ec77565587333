"""The dates of an English sentence: "last Friday" becomes a day, seen from the day it was said."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from pipeline.text.english_verbs import word_set

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "a couple": 2, "couple of": 2, "three": 3,
    "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
}  # fmt: skip
_SEASONS = {"spring": 5, "summer": 8, "autumn": 11, "fall": 11, "winter": 2}
"""The month with which each ends in the north; the south is not told from a text."""

_STEPS = {"last": -1, "this": 0, "next": 1}
_MONTH = f"(?:{'|'.join(MONTHS)}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
_DAY = f"(?:{'|'.join(day.capitalize() for day in DAYS)}|{'|'.join(DAYS)})"
_COUNT = rf"(?:{'|'.join(sorted(_COUNTS, key=len, reverse=True))}|\d{{1,3}})"
_TIME_WORDS = word_set("yesterday today tonight tomorrow this last next past coming ago in on over")
_NAMES = (*DAYS, "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""Days and the beginnings of months, wherever they stand in a word."""
_WORD = re.compile(r"\w+")
_HINT = re.compile(rf"\d|\b(?:{'|'.join(sorted(_TIME_WORDS))})\b|{'|'.join(_NAMES)}", re.IGNORECASE)
_NOT_AFTER_BE = "".join(rf"(?<!{word} )" for word in ("is", "are", "am", "be", "was", "were", "not", "'s", "'re", "'m"))
_RELATIVE = re.compile(
    r"(?<![\w'])(?:(?P<before>on|in|at|as of|since|until|till|by|from|before|after|for|about|around|over|earlier|late|"
    r"later|early) )?(?:(?P<eve>the day before yesterday|the day after tomorrow)|(?P<day>yesterday|today|tomorrow)(?: "
    r"(?P<part>morning|afternoon|evening|night))?|(?P<tonight>tonight|this morning|this afternoon|this evening|last "
    r"night)|"
    rf"(?P<week_day>{_DAY}) (?P<of_week>last|this|next) week|"
    rf"(?P<month>(?-i:{_MONTH})) (?P<of_year>last|this|next) year|"
    rf"(?<!the )(?P<which>last|this|next|this past|this coming|past|{_NOT_AFTER_BE}coming) "
    rf"(?P<unit>week|weekend|month|year|spring|summer|autumn|fall|winter|{_DAY}|{_MONTH})(?![\w-])|"
    r"(?P<over>the weekend)(?! of)|"
    rf"(?P<ago>{_COUNT}) (?P<ago_unit>day|week|month|year)s? ago|"
    rf"(?<=\bin )(?P<ahead>{_COUNT}) (?P<ahead_unit>day|week|month|year)s?(?= |[.,;!]|$)"
    rf")(?P<own>'s)?(?!\w)",
    re.IGNORECASE,
)
_MOVED = ("moved", "pushed", "changed", "shifted", "postponed", "rescheduled")
_MOVED_TO = "|".join(f"(?<={verb} )to" for verb in (*_MOVED, "pushed back"))
_PUT_OFF_TO = re.compile(rf"\b(?:{'|'.join(_MOVED)}|delayed|deferred|extended)\b.* to $")
_BARE_DAY = re.compile(
    rf"\b(?P<before>on|until|till|by|since|coming|arriving|leaving|{_MOVED_TO}) (?P<day>{_DAY})"
    r"(?P<part> morning| afternoon| evening| night)?\b(?!s| (?:morning|afternoon|evening|night)s)"
    rf"(?!,? (?:the )?(?:\d|{_MONTH}))"
)
_ABSOLUTE = re.compile(
    rf"\b(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})\b|"
    rf"\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH})\b\.?(?:,? (?P<y1>\d{{4}}))?|"
    rf"\b(?P<m2>{_MONTH})\b\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (?P<y2>\d{{4}}))?|"
    rf"\b(?P<m3>{_MONTH})\b,? (?P<y3>\d{{4}})\b|"
    rf"\b(?:in|since|until|till|by|from|during) (?P<y4>(?:19|20)\d{{2}})\b|"
    rf"\b(?:in|since|until|till|by|during) (?P<m5>{_MONTH})\b(?!,? \d| (?:last|this|next) year)"
)
_AGAIN = re.compile(r"\b(?:every|each|annual|yearly|birthday|anniversary|usually|always)\b", re.IGNORECASE)
_FUTURE = re.compile(
    r"\b(?:will|won't|'ll|going to|gonna|plan(?:s|ning)?|hop(?:e|es|ing)|have an?|has an?|is|am|are|'m|'re|coming up|"
    r"'s (?:coming|arriving|leaving)|"
    r"upcoming|heading|can't wait|looking forward|aim|expect(?:s|ing)?)\b"
)
_SET = re.compile(r"\b(?:will|starts?|begins?|ends?|expires?|runs out|opens?|closes|due)\b")
"""What has a day that is still to come."""
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|(?<!has )(?<!have )got|made|took|saw|met|found|bought|came|gave|left|lost|ran|"
    r"won(?!')|began|spent|told|said|felt|thought|knew|had|wrote|sent|read|held|built|brought|ate|drove|saw|taught|heard|led|\w+ed)\b"
)


@dataclass(frozen=True, slots=True)
class DateRange:
    """Days from `first` to `last`, both inclusive."""

    first: date
    last: date

    @property
    def iso8601(self) -> str:
        """ISO 8601: a day, a month, a year, or an interval `first/last`.

        >>> DateRange(date(2023, 5, 1), date(2023, 5, 31)).iso8601
        '2023-05'
        """
        if self.first == self.last:
            return self.first.isoformat()
        if self.first.day == 1 and self.last == _month_end(self.first):
            return self.first.isoformat()[:7]
        if (self.first.month, self.first.day, self.last) == (1, 1, date(self.first.year, 12, 31)):
            return self.first.isoformat()[:4]
        return f"{self.first.isoformat()}/{self.last.isoformat()}"


@dataclass(frozen=True, slots=True)
class ResolvedText:
    """A text without words that mean something else tomorrow, and the times it speaks of, in its order."""

    text: str
    date_ranges: tuple[DateRange, ...] = ()


def resolve_dates(text: str, reference_date: date | None) -> ResolvedText:
    """Resolve dates relative to the day on which the text was said; None: only dates with a year are resolved.

    >>> resolve_dates("I saw Ann last Friday.", date(2023, 5, 8)).text
    'I saw Ann on 5 May 2023.'
    """
    if not _may_contain_dates(text):
        return ResolvedText(text)
    found: list[tuple[int, DateRange]] = list(_absolute_dates(text, reference_date))
    if reference_date is None:
        return ResolvedText(text, _in_order(found))
    try:
        resolved = _resolve_relative(text, reference_date, found)
    except (OverflowError, ValueError):
        # The calendar ends, for days (Overflow) and for years: "999 years ago", written in the year 500.
        return ResolvedText(text, _in_order(found))
    return ResolvedText(resolved, _in_order(found))


def _may_contain_dates(text: str) -> bool:
    """Tell quickly whether a text may contain dates; equivalent to `_HINT`, several times faster for ASCII."""
    if not text.isascii():
        return _HINT.search(text) is not None
    folded = text.lower()
    spoken = set(_WORD.findall(folded))
    return (
        not spoken.isdisjoint(_TIME_WORDS)
        or any(item in folded for item in _NAMES)
        or any("0" <= letter <= "9" for letter in folded)
    )


def _resolve_relative(text: str, today: date, found: list[tuple[int, DateRange]]) -> str:
    ahead = bool(_FUTURE.search(text) or _SET.search(text)) and not _PAST.search(text)
    behind = bool(_PAST.search(text))

    def relative(match: re.Match[str]) -> str:
        meant = _resolve_expression(match, today, ahead=ahead, behind=behind)
        if meant is None:
            return match[0]
        when, words = meant
        found.append((match.start(), when))
        return _render(match, words)

    def bare(match: re.Match[str]) -> str:
        before = match["before"]
        is_ahead = before == "to" or (ahead and before != "since")
        # What was promised by Friday may be due on the next one or the last.
        is_unsure = before not in ("since", "to") and (ahead == behind or (behind and before == "by"))
        if is_unsure or _AGAIN.search(text):
            return match[0]
        wanted = DAYS.index(match["day"].lower())
        when = _after(today, wanted) if is_ahead else _before(today, wanted)
        found.append((match.start(), DateRange(when, when)))
        preposition = " on" if before.endswith("ing") else ""
        return f"{before}{preposition} {day_name(when)}"

    return _BARE_DAY.sub(bare, _RELATIVE.sub(relative, text))


def _in_order(found: list[tuple[int, DateRange]]) -> tuple[DateRange, ...]:
    return tuple(dict.fromkeys(when for _, when in sorted(found, key=lambda item: item[0])))


def _render(match: re.Match[str], words: tuple[str, str]) -> str:
    """Render `on 5 May 2023`, or `5 May 2023` after another preposition; a possessive gets `the`, or keeps its `'s`."""
    preposition, name = words
    before = match["before"]
    upper = match[0][0].isupper() and (match.start() == 0 or not (match["week_day"] or match["month"]))
    if match["own"]:
        shown = f"{before + ' ' if before else ''}" + (f"{name}'s" if name.startswith("the ") else f"the {name}")
    elif match["ahead"]:
        shown = f"{preposition} {name}"
    elif before and before.lower() == "in" and (match["day"] or match["eve"] or match["ago"]):
        shown = f"{before} {preposition} {name}"  # `moved in yesterday`
    elif before is None and _PUT_OFF_TO.search(match.string, 0, match.start()) and match["which"] == "next":
        shown = name
    elif before and before.lower() in {"as of", "since", "until", "till", "by", "from", "before", "after", "for"}:
        shown = f"{before} {name}"
    elif before and before.lower() in {"earlier", "late", "later", "early", "about", "around"}:
        shown = (
            f"{before} {preposition} {name}" if before.lower() not in {"about", "around"} else f"{preposition} {name}"
        )
    else:
        shown = f"{preposition} {name}"
    return shown[0].upper() + shown[1:] if upper else shown


ResolvedExpression = tuple[DateRange, tuple[str, str]]


def _resolve_expression(match: re.Match[str], today: date, *, ahead: bool, behind: bool) -> ResolvedExpression | None:
    if match["eve"]:
        return _single_day(today + timedelta(days=-2 if "before" in match["eve"].lower() else 2))
    if match["day"]:
        shift = {"yesterday": -1, "today": 0, "tomorrow": 1}[match["day"].lower()]
        return _single_day(today + timedelta(days=shift), match["part"])
    if match["tonight"]:
        return _tonight(match["tonight"].lower(), today)
    if match["week_day"]:
        return _single_day(_weekday_of_week(match["of_week"].lower(), today, DAYS.index(match["week_day"].lower())))
    if match["month"]:
        return _month(today.year + _STEPS[match["of_year"].lower()], _month_number(match["month"]))
    if match["which"]:
        which = match["which"].lower().removeprefix("this ")
        return _named_unit(match["unit"], {"past": "last", "coming": "next"}.get(which, which), today)
    if match["over"]:
        return _weekend("last", today) if behind and match["before"] else None
    if match["ago"]:
        return _shifted(today, -_count(match["ago"]), match["ago_unit"].lower())
    return _shifted(today, _count(match["ahead"]), match["ahead_unit"].lower()) if ahead else None


def _single_day(day: date, part: str | None = None) -> ResolvedExpression:
    name = day_name(day)
    return DateRange(day, day), ("on", f"the {part.lower()} of {name}" if part else name)


def _tonight(word: str, today: date) -> ResolvedExpression:
    if word == "last night":
        return _single_day(today - timedelta(days=1), "night")
    return _single_day(today, "evening" if word == "tonight" else word.removeprefix("this "))


def _named_unit(unit: str, which: str, today: date) -> ResolvedExpression | None:
    folded = unit.lower()
    step = _STEPS[which]
    rules: dict[str, Callable[[], ResolvedExpression]] = {
        "week": lambda: _week(today + timedelta(weeks=step)),
        "weekend": lambda: _weekend(which, today),
        "month": lambda: _month(*_moved(today, step)),
        "year": lambda: _year(today.year + step),
    }
    if folded in rules:
        return rules[folded]()
    if folded in _SEASONS:
        return _season(folded, which, today)
    if folded in DAYS:
        return _single_day(_weekday(which, today, DAYS.index(folded)))
    return _named_month(unit, which, today)


def _weekday(which: str, today: date, wanted: int) -> date:
    if which == "last":
        return _before(today, wanted)
    return _weekday_of_week(which, today, wanted)


def _weekday_of_week(which: str, today: date, wanted: int) -> date:
    monday = today - timedelta(days=today.weekday())
    return monday + timedelta(weeks=_STEPS[which], days=wanted)


def _before(today: date, wanted: int) -> date:
    return today - timedelta(days=(today.weekday() - wanted) % 7 or 7)


def _after(today: date, wanted: int) -> date:
    return today + timedelta(days=(wanted - today.weekday()) % 7 or 7)


def _week(day: date) -> ResolvedExpression:
    monday = day - timedelta(days=day.weekday())
    return DateRange(monday, monday + timedelta(days=6)), ("in", f"the week of {day_name(monday)}")


def _weekend(which: str, today: date) -> ResolvedExpression:
    saturday = today - timedelta(days=today.weekday()) + timedelta(days=5)
    saturday += timedelta(weeks=_STEPS[which])
    return DateRange(saturday, saturday + timedelta(days=1)), ("on", f"the weekend of {day_name(saturday)}")


def _month(year: int, month: int) -> ResolvedExpression:
    first = date(year, month, 1)
    return DateRange(first, _month_end(first)), ("in", f"{MONTHS[month - 1]} {year}")


def _year(year: int) -> ResolvedExpression:
    return DateRange(date(year, 1, 1), date(year, 12, 31)), ("in", str(year))


def _season(name: str, which: str, today: date) -> ResolvedExpression:
    """The last one has ended; of a winter the year in which it ends."""
    year = today.year
    if which == "last":
        year -= today.month <= _SEASONS[name]
    elif which == "next":
        year += today.month >= _SEASONS[name] - 2
    return DateRange(date(year, 1, 1), date(year, 12, 31)), ("in", f"the {name} of {year}")


def _named_month(unit: str, which: str, today: date) -> ResolvedExpression | None:
    if not unit[0].isupper():
        return None  # "this may"
    month = _month_number(unit)
    year = today.year
    if which == "last":
        year -= month >= today.month
    elif which == "next":
        year += month <= today.month
    return _month(year, month)


def _shifted(today: date, count: int, unit: str) -> ResolvedExpression:
    if unit == "day":
        return _single_day(today + timedelta(days=count))
    if unit == "week":
        day = today + timedelta(weeks=count)
        monday = day - timedelta(days=day.weekday())
        return DateRange(monday, monday + timedelta(days=6)), ("around", day_name(day))
    if unit == "month":
        return _month(*_moved(today, count))
    if not 0 < today.year + count < 9999:
        raise OverflowError
    return _year(today.year + count)


def _moved(today: date, months: int) -> tuple[int, int]:
    total = today.year * 12 + today.month - 1 + months
    if not 12 <= total < 9999 * 12:
        raise OverflowError
    return total // 12, total % 12 + 1


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else _COUNTS[word.lower()]


def day_name(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _month_end(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name[:3].capitalize()))


def _absolute_dates(text: str, today: date | None) -> Iterator[tuple[int, DateRange]]:
    """Dates that name themselves. Without a year it is the one that is nearest to `today`, or still to come."""
    again = _AGAIN.search(text) is not None
    ahead = _SET.search(text) is not None and _PAST.search(text) is None
    for match in _ABSOLUTE.finditer(text):
        when = _parse_absolute(match, None if again else today, ahead=ahead)
        if when is not None:
            yield match.start(), when


def _parse_absolute(match: re.Match[str], today: date | None, *, ahead: bool) -> DateRange | None:
    try:
        if match["iso"]:
            day = date.fromisoformat(match["iso"])
            return DateRange(day, day)
        month = match["m1"] or match["m2"] or match["m3"] or match["m5"]
        year = match["y1"] or match["y2"] or match["y3"] or match["y4"]
        if month is None:
            return _year(int(year))[0]
        number = _month_number(month)
        chosen = int(year) if year else _nearest_year(today, number, ahead=ahead)
        if chosen is None:
            return None
        stated = match["d1"] or match["d2"]
        if stated is None:
            return _month(chosen, number)[0]
        day = date(chosen, number, int(stated))
    except ValueError:
        return None  # the 31st of June
    return DateRange(day, day)


def _nearest_year(today: date | None, month: int, *, ahead: bool) -> int | None:
    if today is None:
        return None
    return (
        today.year + (month < today.month)
        if ahead
        else today.year + (month - today.month < -6) - (month - today.month > 6)
    )
