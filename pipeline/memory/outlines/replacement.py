"""Decision whether a newer statement ends an older one, by a logistic regression over their outlines. Pure."""

import math
import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pipeline.memory.languages.english import english_words
from pipeline.memory.outlines.features import features
from pipeline.memory.outlines.readings import outlines, readings
from pipeline.memory.outlines.shared_subject import are_about_one
from pipeline.memory.outlines.statement import Statement
from pipeline.memory.outlines.vocabulary import CACHED_TEXTS, stem, stems
from pipeline.memory.outlines.wording import as_said_of_user
from pipeline.text.analyzer import words

MIN_PROBABILITY = 0.5
"""Probability from which a statement is replaced."""
_CIRCUMSTANCES = frozenset({"other names", "older tells of change", "most words shared", "foreign: a word of both"})
"""Features that say nothing without another one."""
_LISTED = re.compile(r",? (?:and|plus|&) |, (?!(?:(?:[a-z]+ )?\d[^,]*|[a-z ]+ ones?)$)")
"""What stands between two things; behind a comma a number or *one* tells of the same: `an allotment, plot 14`."""
_SAID_BESIDE = frozenset({"added", "one_day", "of_others"})
"""What ends only what was said in the same way."""


@lru_cache(maxsize=CACHED_TEXTS)
def replaces(newer: str, older: str) -> bool:
    """Return whether a newer statement says for sure that an older one holds no more."""
    return probability(newer, older) >= MIN_PROBABILITY


def probability(newer: str, older: str) -> float:
    """Return how sure it is that a newer statement ends an older one.

    >>> probability("User quit the choir, too much drama", "User sings in the church choir") > 0.5
    True
    >>> probability("User quit tennis", "User plays chess on Mondays and tennis on Fridays")
    0.0
    """
    if newer == older:
        return 0.0
    return max(_probability(new, old, older) for new in outlines(newer) for old in readings(older))


def _probability(new: Statement, old: Statement, older: str) -> float:
    if not may_compare(new, old) or _ends_a_part(new, old, as_said_of_user(older)):
        return 0.0
    found = features(new, old)
    if _CIRCUMSTANCES.issuperset(found):
        return 0.0
    learned = _learned()
    total = learned["bias"] + sum(learned["weights"].get(name, 0.0) for name in found)
    return 1 / (1 + math.exp(-total))


@cache
def _learned() -> dict[str, Any]:
    """Return the `bias` and the `weights` of features."""
    return tomllib.loads(Path(__file__).with_name("replacement_weights.toml").read_text("utf-8"))


def may_compare(new: Statement, old: Statement) -> bool:
    """Return whether both are about the same and the newer says in earnest that something has changed."""
    return (
        new.is_foreign == old.is_foreign
        and new.tells_of_change
        and not new.says("unreal", "past")
        and not old.says("past")
        and not _tells_the_same_end(new, old)
        and not _tells_less(new, old)
        and ("" in (new.number, old.number) or new.number == old.number)
        and new.marks & _SAID_BESIDE <= old.marks
        and not new.addresses.isdisjoint(old.addresses)
        and are_about_one(new, old)
    )


def _tells_the_same_end(new: Statement, old: Statement) -> bool:
    """Return whether the older says too all that the newer says to be over: `lost her job`, `lost her job in May`."""
    ended, ended_before = ({phrase.head for phrase in (*said.ended, *said.loosely_ended)} for said in (new, old))
    is_other_change = bool(new.altered or new.begun or new.obtained)
    return bool(ended) and not is_other_change and ended <= ended_before


def _tells_less(new: Statement, old: Statement) -> bool:
    """Return whether the older says all that the newer says: `went to a mailbox that nobody reads`, `to a mailbox`."""
    is_less = new.words <= old.words and new.marks <= old.marks and {*new.figures} <= {*old.figures}
    return is_less and new.verb == old.verb != "" and not (new.ended or new.loosely_ended)


def _ends_a_part(new: Statement, old: Statement, older: str) -> bool:
    """Return whether the newer ends or alters one of several things that the older lists: the others still hold."""
    heads = {phrase.head for phrase in (*new.ended, *new.loosely_ended, *new.altered)}
    objects = {phrase.head for phrase in old.objects} - stems("times_in_lists")
    is_counted = any(digits == str(len(objects) - 1) and unit in objects for unit, digits in old.figures)
    if heads.isdisjoint(objects) or objects <= new.words or is_counted:
        return False
    return any(_is_list(older[: mark.start()], older[mark.end() :], heads, objects) for mark in _LISTED.finditer(older))


def _is_list(before: str, after: str, heads: set[str], objects: set[str]) -> bool:
    """Return whether a thing that ended and another one stand on the two sides of an *and* of the same rank.

    `plays bridge with Harold and Joan` says one thing, `chess on Mondays and tennis on Fridays` two.
    """
    words_before, words_after = words(before), words(after)
    first, second = list(map(stem, words_before)), list(map(stem, words_after))
    if not heads.isdisjoint(objects.intersection(second)):
        return not objects.intersection(first) <= heads
    ended = max((at for at, word in enumerate(first) if word in heads & objects), default=-1)
    others = objects.intersection(second) - heads
    details = english_words("details_in_lists")
    has_details = not details.isdisjoint(words_before[ended + 1 :])
    return ended >= 0 and bool(others) and (not has_details or not details.isdisjoint(words_after))
