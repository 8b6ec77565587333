"""Figures of statements: numbers, times, days and addresses, each with its unit. Pure."""

import re
from collections.abc import Iterator

from pipeline.memory.languages.english import english_numbers, english_pattern
from pipeline.memory.outlines.vocabulary import is_content, stem
from pipeline.text.english_verbs import word_set
from pipeline.text.statement_words import weekdays, with_digits

PHONE = "phone"
DOSE_UNITS = word_set("mg mcg µg ug ml iu ie мг мкг мл")
TOKEN = re.compile(r"[\w%$\u20ac\u00a3][\w.:'\u2019%+-]*|[,;()]|[!?]")
_WEEKDAY = "weekday"
_ADDRESS = re.compile(r"(?<![\w.+-])(?<!from )(?<!to )[\w.+-]+@[\w-]+\.[\w.]+")
_PHONE_NUMBER = re.compile(r"\+?\d(?:[ ()/-]?\d){6,}")
_WEEKLY = re.compile(rf"\b({english_pattern('days')})s\b", re.IGNORECASE)
"""Days on which something is again and again."""
_FIGURE = re.compile(r"(\d[\d .:/-]*\d|\d)(?: ?([^\W\d_]*))")
"""A number of another language with the word after it."""
_ENDING = re.compile(r"(?<=\d)(?:st|nd|rd|th)$|[\d.:,]")
"""What is not the unit of a number: its digits, and what makes the `4th floor` of them."""
_UNIT_CHARS = 4
_IDEOGRAPHS = "一二三四五六七八九十"
"""One to ten."""
_COUNTED = re.compile(f"([{_IDEOGRAPHS}])[匹人台個本枚冊回歳才階只个口辆岁楼]")
"""An ideograph for a number before one that counts animals, people, things, years or floors: `二匹`."""


def english_figures(text: str) -> Iterator[tuple[str, str]]:
    """Yield addresses, numbers and days of an English statement, each after its unit.

    >>> list(english_figures("User pays 12 euros and swims on Mondays"))
    [('weekday', 'monday'), ('euro', '12')]
    >>> list(english_figures("User's desk is on the 4th floor"))
    [('floor', '4')]
    """
    yield from (("@", address) for address in _ADDRESS.findall(text))
    yield from ((PHONE, re.sub(r"\D", "", number)) for number in _PHONE_NUMBER.findall(text))
    if days := {day.lower() for day in _WEEKLY.findall(text)}:
        yield _WEEKDAY, "".join(sorted(days))
    tokens = TOKEN.findall(_PHONE_NUMBER.sub(" ", _ADDRESS.sub(" ", text)))
    for before, token, following in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        number = english_numbers().get(token.lower(), token)
        if any(map(str.isdigit, number)):
            yield (
                _ENDING.sub("", number).lower() or _unit(before, following),
                re.sub(r"[^\d.:]", "", number).strip(".:"),
            )


def _unit(before: str, following: str) -> str:
    """Return the stem of the word after a number, or of a name before it: of `6 puffs`, and of `Postgres 16`."""
    if is_content(following):
        return stem(following)
    symbol = "" if following[:1].isalpha() else following.strip(",;()!?")
    return symbol or (stem(before) if before[:1].isupper() and is_content(before) else "")


def foreign_figures(said: str) -> Iterator[tuple[str, str]]:
    """Yield figures after their unit, which figures of one thing share, and days of the week of another language.

    >>> list(foreign_figures("martes a las 18:30 en la sala 4b"))
    [('en', '18:30'), ('b', '4'), ('weekday', '1')]
    """
    yield from ((unit[:_UNIT_CHARS].lower(), digits) for digits, unit in _FIGURE.findall(with_digits(said)))
    yield from (("", str(_IDEOGRAPHS.index(number) + 1)) for number in _COUNTED.findall(said))
    if days := weekdays(said):
        yield _WEEKDAY, "".join(map(str, sorted(days)))
