"""Decision whether a newer statement ends an older one, by a logistic regression over their outlines. Pure."""

import math
from functools import lru_cache

from pipeline.memory.attributes.statements import BE, CACHED_TEXTS, HAVE, USER, Phrase, Statement, outline, stem

MIN_PROBABILITY = 0.55
"""Probability from which a statement is replaced."""
_CIRCUMSTANCES = frozenset({"denied", "other names", "passing", "older tells of change", "most words shared"})
"""Features that say nothing without another one."""
_BIAS = -2.67
_WEIGHTS = {
    "activity ended": 4.22,
    "altered": 2.54,
    "altered, a part": 3.12,
    "altered, beside a thing of both": 2.45,
    "altered, with another figure": 0.50,
    "begun after a denial": 1.23,
    "denied": 2.32,
    "denied now": 1.80,
    "ended": 5.00,
    "ended, a name": 1.44,
    "figure of one topic": 1.86,
    "figure of one unit": 1.88,
    "foreign: a name of both ended": 1.81,
    "foreign: a word of both": 0.94,
    "foreign: a word of both ended": 3.25,
    "foreign: homes": 4.98,
    "loosely ended": 2.42,
    "loosely ended, a possession": -1.35,
    "loosely ended, where somebody is": 1.78,
    "most words shared": 2.26,
    "older tells of change": -1.71,
    "other names": 1.99,
    "passing": -0.95,
    "said otherwise now": 2.81,
    "topic changed": 2.94,
    "wish fulfilled": 4.26,
}
"""Learned by `bench.memory.replacement_weights`."""


@lru_cache(maxsize=CACHED_TEXTS)
def replaces(newer: str, older: str) -> bool:
    """Return whether a newer statement says for sure that an older one holds no more."""
    return probability(newer, older) >= MIN_PROBABILITY


def probability(newer: str, older: str) -> float:
    """Return how sure it is that a newer statement ends an older one.

    >>> probability("User quit the choir, too much drama", "User sings in the church choir") > 0.5
    True
    """
    new, old = outline(newer), outline(older)
    if newer == older or not may_compare(new, old):
        return 0.0
    found = features(new, old)
    if _CIRCUMSTANCES.issuperset(found):
        return 0.0
    total = _BIAS + sum(_WEIGHTS.get(name, 0.0) for name in found)
    return 1 / (1 + math.exp(-total))


def may_compare(new: Statement, old: Statement) -> bool:
    """Return whether both are about the same and the newer says in earnest that something has changed."""
    return (
        new.is_foreign == old.is_foreign
        and new.tells_of_change
        and not new.is_unreal
        and not (new.is_past and not old.is_past)
        and not (new.is_added and not old.is_added)
        and not (new.is_one_day and not old.is_one_day)
        and not new.addresses.isdisjoint(old.addresses)
        and (new.holder == old.holder or _is_named_in(new, old) or _takes_role(new, old) or _is_users(new, old))
    )


def features(new: Statement, old: Statement) -> list[str]:
    """Return the features that apply to a pair."""
    if new.is_foreign:
        shared = new.words & old.words
        counted = (
            ("foreign: a name of both ended", new.is_denied and bool(shared & old.names)),
            ("foreign: a word of both ended", new.is_denied and bool(shared)),
            ("foreign: homes", new.is_home and old.is_home and bool(new.names - old.names)),
            ("foreign: a word of both", bool(shared)),
        )
        return [name for name, applies in counted if applies]
    things = _things(old)
    ended = _match(new.ended, things, old)
    loosely = _match(new.loosely_ended, things, old)
    topic = new.topic.head if new.topic is not None else stem(new.holder)
    same_topic = old.topic is not None and topic == old.topic.head
    extra = new.topic.modifiers - old.words - {"new"} if same_topic and new.topic is not None else frozenset()
    same_verb = new.verb == old.verb != ""
    objects = {phrase.head for phrase in new.objects} & {phrase.head for phrase in old.objects}
    units = dict(old.figures)
    other_figure = any(unit in units and units[unit] != digits for unit, digits in new.figures)
    found = (
        ("ended", ended),
        ("ended, a name", ended and any(phrase.head in old.names for phrase in new.ended)),
        ("loosely ended", loosely),
        ("loosely ended, a possession", loosely and old.verb == HAVE),
        ("loosely ended, where somebody is", loosely and old.verb == BE),
        ("activity ended", _ends_activity(new, old)),
        ("topic changed", same_topic and not extra and new.is_changed),
        ("said otherwise now", same_verb and bool(objects) and new.is_now),
        ("figure of one unit", other_figure and new.is_changed),
        ("altered", _match(new.altered, things, old)),
        ("altered, with another figure", bool(new.figures and old.figures) and _match(new.altered, things, old)),
        ("altered, a part", any(not phrase.modifiers.isdisjoint(things) for phrase in new.altered)),
        ("altered, beside a thing of both", bool(new.altered) and bool(objects)),
        ("figure of one topic", bool(new.figures and old.figures) and new.is_changed and topic in old.words),
        ("denied now", new.is_denied and new.is_now and bool(objects)),
        ("begun after a denial", old.is_denied and not new.is_denied and _match(new.begun, things, old)),
        ("wish fulfilled", old.is_wish and old.names <= new.names and _match(new.obtained, things, old)),
        ("passing", new.is_passing),
        ("older tells of change", old.tells_of_change),
        ("denied", new.is_denied),
        ("other names", bool(new.names - old.names)),
        ("most words shared", len(new.words & old.words) * 2 > len(old.words)),
    )
    return [name for name, applies in found if applies]


def _things(old: Statement) -> dict[str, frozenset[str]]:
    """Return what an older statement is about that may end, each with the words before it."""
    found = {phrase.head: phrase.modifiers for phrase in old.objects}
    if old.topic is not None:
        found[old.topic.head] = old.topic.modifiers
    return {**dict.fromkeys(old.names, frozenset()), **found}


def _match(phrases: tuple[Phrase, ...], things: dict[str, frozenset[str]], old: Statement) -> bool:
    """Return whether one of these phrases names one of the things, and no other kind of it."""
    return any(phrase.head in things and phrase.modifiers <= old.words for phrase in phrases)


def _ends_activity(new: Statement, old: Statement) -> bool:
    return any(phrase.head == old.verb and phrase.modifiers <= old.words for phrase in new.ended)


def _is_named_in(new: Statement, old: Statement) -> bool:
    """Return whether the newer is about what the older names of its holder: `Aiko left us` of our designer Aiko."""
    return new.holder != old.holder and new.topic is None and stem(new.holder) in old.names


def _is_users(new: Statement, old: Statement) -> bool:
    """Return whether what has no owner is the user's: `doc upped the sertraline`, `appointment is at 5 now`."""
    if old.holder != USER or new.topic is not None:
        return False
    is_topic = old.topic is not None and stem(new.holder) == old.topic.head
    return is_topic or (bool(new.figures) and _match(new.altered, _things(old), old))


def _takes_role(new: Statement, old: Statement) -> bool:
    """Return whether somebody else is now what another was: `Deniz is scrum master now`."""
    if not new.is_now or new.verb != old.verb or new.holder == old.holder:
        return False
    return bool({phrase.head for phrase in new.objects} & {phrase.head for phrase in old.objects})
