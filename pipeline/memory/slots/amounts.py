"""Amounts: how many, how much, how often; the same sentence with another number."""

import re
from collections.abc import Iterable

from pipeline.memory.slots.grammar import CALLED, INSTEAD, NOW, WHO, Form, form
from pipeline.memory.slots.slot import Slot
from pipeline.memory.slots.values import as_subject, plain, without_now

_COUNTED = (
    "children child sons son daughters daughter siblings brothers sisters cats cat dogs dog pets employees "
    "people members users customers subscribers followers rooms bedrooms cars bikes seats offices stores "
    "branches grandchildren grandkids developers engineers students horses chickens houseplants"
)
_ONE = {"child": "children", "son": "sons", "daughter": "daughters", "cat": "cats", "dog": "dogs"}


def _counts(match: re.Match[str]) -> Iterable[Slot | None]:
    subject, said = as_subject(match["s"]), plain(f"{match['n']} {match['x']}").split()
    if subject is not None and said[0].isdigit():
        yield Slot(subject, f"number of {_ONE.get(said[1], said[1])}", said[0])
        if said[0] == "1":
            yield Slot(subject, "have", said[1], single=False)


_AMOUNT = r"(?P<n>[$€£]?\d[\d.,:]*)"
_MEASURED = (
    "weighs|earns|pays|runs|swims|cycles|walks|sleeps|works|takes|drinks|smokes|reads|saves|charges|costs|"
    "lasts|measures|gets up|wakes up|goes to bed|goes to sleep|opens|closes|starts|ends|leaves"
)


def _measures(match: re.Match[str]) -> Iterable[Slot | None]:
    """The same sentence with another amount."""
    subject, rest = as_subject(match["s"]), plain(without_now(f" {match['r'] or ''}"))
    if subject is not None and len(rest.split()) <= 6:
        before = f" {plain(match['p'])}" if match["p"] else ""
        yield Slot(subject, f"{match['b']}{before} # {rest}".strip(), match["n"].rstrip(".,"))


_DAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")


def _weekly(match: re.Match[str]) -> Iterable[Slot | None]:
    subject = as_subject(match["s"])
    what = plain(match["x"])
    if subject is not None and len(what.split()) <= 6:
        marked = INSTEAD.search(match.string) is not None
        yield Slot(subject, f"days of {match['b']} {what}", plain(match["v"]), single=False, marked=marked)


FORMS: tuple[Form, ...] = (
    form(
        rf"{WHO} (?:has|have) {NOW}(?P<n>no|an?|\w+) (?P<x>{_COUNTED.replace(' ', '|')}){CALLED}",
        _counts,
        "has have",
    ),
    form(
        rf"{WHO} {NOW}(?P<b>{_MEASURED})(?: (?P<p>at|for|about))? {_AMOUNT}(?: ?(?P<r>.+?))?",
        _measures,
        _MEASURED.replace("|", " "),
        tail=False,
    ),
    form(
        rf"{WHO} {NOW}(?P<b>[a-z]+s) (?P<x>.+?) on (?P<v>(?:{'|'.join(_DAYS)})days?)",
        _weekly,
        " ".join(f"{day}day {day}days" for day in _DAYS),
    ),
)
