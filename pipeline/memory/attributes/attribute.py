"""An attribute of a fact, and the comparison of two."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from pipeline.memory.attributes import hypernyms
from pipeline.memory.attributes.time_values import times_conflict
from pipeline.memory.languages.english import english_words
from pipeline.memory.outlines.replacement import replaces

ValueKind = Literal["exact", "name", "phrase", "time", "statement"]
_DAY = re.compile(r"\bon (?:the \w+ of )?\d{1,2} [a-z]{3,} \d{4}\b")
_SOME_DAYS = re.compile(
    r"\b(?:on (?:(?:mon|tues|wednes|thurs|fri|satur|sun|week)days|(?:public |bank )?holidays|weekends)|at weekends|"
    r"in (?:the )?(?:spring|summer|autumn|fall|winter|holidays)|during (?:the )?(?:\w+ )?(?:holidays|term|ramadan))\b"
)
NEGATION_PREFIX = "not "
"""Prefix of values that are no longer, or were never, true."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A subject's attribute and its value, in lower case and without articles.

    `replaced_value`: the only old value that this one ends (`switched from A to B`). `is_single_valued`:
    False if values coexist, so that only a named old value is replaced, or any after `instead`
    (`is_explicit_change`). `detail`: the rest of the statement; facts are equal only with equal details.
    `value_kind`: whether values may be more or less exact (Berlin, East Berlin); a `statement` is the whole text, and
    `is_explicit_change` says that it tells of a change. `denies_whole_kind`: all
    of a kind is denied (`no longer has cats`). `is_planned`: it will be so from a day on.
    """

    subject: str
    name: str
    value: str
    replaced_value: str | None = None
    is_single_valued: bool = True
    value_kind: ValueKind = "exact"
    detail: str = ""
    is_explicit_change: bool = False
    denies_whole_kind: bool = False
    is_planned: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Subject and name, equal for attributes of the same thing; plans are compared with plans."""
        return self.subject, f"planned {self.name}" if self.is_planned else self.name

    @property
    def is_negated(self) -> bool:
        """True if the value is denied."""
        return self.value.startswith(NEGATION_PREFIX)


def contradicts(new: Attribute, old: Attribute) -> bool:
    """Return whether the newer attribute makes the older one untrue; False in doubt."""
    if new.key != old.key or new.value == old.value:
        return False
    if new.value_kind == "statement":
        return replaces(new.value, old.value)
    if old.is_negated:
        return not new.is_negated and (
            new.is_single_valued or f"{NEGATION_PREFIX}{new.value}" == old.value or _refutes_denial_of(new, old)
        )
    if new.replaced_value is not None:
        return names_value(new.replaced_value, old.value) or _denies_kind_of(new, old)
    if not ((new.is_single_valued and old.is_single_valued) or new.is_explicit_change):
        return False
    if (_is_of_one_day(new) and not _is_of_one_day(old)) or (_is_exception(new) and not _is_exception(old)):
        return False
    if "time" in (new.value_kind, old.value_kind):
        return times_conflict(new.value, old.value) or (new.is_explicit_change and new.value_kind == old.value_kind)
    return not _is_refinement(new, old)


def will_contradict(planned: Attribute, present: Attribute) -> bool:
    """Return whether what is planned ends what holds now, once its day has come."""
    return planned.is_planned and not present.is_planned and contradicts(replace(planned, is_planned=False), present)


def _is_of_one_day(attribute: Attribute) -> bool:
    """Return whether a time or figure holds on one day only: `at 10 on 21 November 2026`."""
    is_figure = attribute.name != "age" and (attribute.value_kind == "time" or attribute.value[:1].isdigit())
    return is_figure and not attribute.is_explicit_change and _DAY.search(attribute.detail) is not None


def _is_exception(attribute: Attribute) -> bool:
    """Return whether a value holds on some days only: `opens at 10 on Sundays`."""
    return not attribute.is_explicit_change and _SOME_DAYS.search(attribute.detail) is not None


def is_equivalent(new: Attribute, old: Attribute) -> bool:
    """Return whether both state the same, in whatever words."""
    return new.value_kind != "statement" and (new.key, new.value, new.detail) == (old.key, old.value, old.detail)


def names_value(phrase: str, value: str) -> bool:
    """Return whether a phrase names a value stated in more detail: `vim` and `vim with forty plugins`."""
    if phrase == value:
        return True
    rest = value.removeprefix(f"{phrase} ")
    if rest == value:
        return False
    return hypernyms.is_postmodifier(rest.split()[0])


def naming_phrases(value: str) -> list[str]:
    """Return every phrase that names a value.

    >>> naming_phrases("vim with forty plugins")
    ['vim', 'vim with forty plugins']
    """
    words = value.split(" ")
    places = [place for place in range(1, len(words)) if words[place] and hypernyms.is_postmodifier(words[place])]
    return [*(" ".join(words[:place]) for place in places), value]


def _denies_kind_of(new: Attribute, old: Attribute) -> bool:
    """Return whether the newer denies the kind of the older: no cats, so not two cats either."""
    return (
        new.denies_whole_kind
        and new.replaced_value is not None
        and hypernyms.has_same_hypernym(old.name, old.value, new.replaced_value)
    )


def _refutes_denial_of(new: Attribute, old: Attribute) -> bool:
    """Return whether the newer affirms something of a kind that the older denies."""
    return (
        old.denies_whole_kind
        and old.replaced_value is not None
        and hypernyms.refutes_denial(new.name, new.value, old.replaced_value)
    )


def _is_refinement(new: Attribute, old: Attribute) -> bool:
    """Return whether one value refines the other: Berlin and East Berlin, nurse and head nurse."""
    if "exact" in (new.value_kind, old.value_kind):
        return new.value_kind != old.value_kind
    ours, theirs = new.value.replace(",", "").split(), old.value.replace(",", "").split()
    if set(ours) & set(theirs):
        return not _differ_in_one(ours, theirs)
    regions = english_words("regions")
    return new.name == "residence" and (new.value in regions) != (old.value in regions)


def _differ_in_one(ours: list[str], theirs: list[str]) -> bool:
    """Return whether one word was replaced: data analyst and data engineer, Pixel 6 and Pixel 8."""
    if len(ours) != len(theirs):
        return False
    return sum(our_word != their_word for our_word, their_word in zip(ours, theirs, strict=True)) == 1
