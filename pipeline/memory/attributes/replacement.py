"""Decision whether a newer statement ends an older one, by a logistic regression over their outlines. Pure."""

import math
import re
from functools import lru_cache

from pipeline.memory.attributes.statements import (
    BE,
    CACHED_TEXTS,
    HAVE,
    USER,
    Phrase,
    Statement,
    as_said_of_user,
    outlines,
    readings,
    stem,
)
from pipeline.text.analyzer import words
from pipeline.text.english_verbs import word_set

MIN_PROBABILITY = 0.5
"""Probability from which a statement is replaced."""
_CIRCUMSTANCES = frozenset(
    {"denied", "other names", "passing", "older tells of change", "most words shared", "foreign: a word of both"}
)
"""Features that say nothing without another one."""
_MANY = 100
"""What is no count any more, but a year or a type: `a 2009 Hilux`."""
_TYPE_DIGITS = 3
"""Digits of a number that may name a thing: `208`."""
_SHARING = frozenset(map(stem, ("shares", "lives")))
"""Verbs of what one does with somebody who may leave: `shares a flat with Dom`."""
_NEWBORN = word_set("son daughter baby boy girl twins")
_PARTNERS = word_set("girlfriend boyfriend partner fiance fiancee wife husband")
_LISTED = re.compile(r",? (?:and|plus|&) |, ")
_DETAILS = word_set("in at on with for by from to near of named called who which that")
"""Words that begin what is said of a thing in a list."""
_WHEN = frozenset(
    map(stem, word_set("morning afternoon evening night noon day daily week weekend month year lunch dinner"))
)
_BIAS = -1.88
_WEIGHTS = {
    "activity altered": 1.97,
    "activity ended": 3.46,
    "altered": 3.25,
    "altered, a part": 3.45,
    "altered, beside a thing of both": 3.37,
    "altered, with another figure": 0.24,
    "another dose": 2.74,
    "another of a kind": 4.46,
    "another of a kind, now": 1.18,
    "another of a kind, obtained": 1.34,
    "another partner": 0.24,
    "begun after a denial": 1.65,
    "denied": 0.59,
    "denied now": 2.35,
    "denied now, what was done": 0.95,
    "ended": 4.76,
    "ended, a name": 1.91,
    "figure of one activity": 2.67,
    "figure of one matter": 1.99,
    "figure of one topic": 2.19,
    "figure of one unit": 2.58,
    "figure of what was given": 2.84,
    "foreign: a name of both ended": 0.45,
    "foreign: a word of both": 1.56,
    "foreign: a word of both altered": 2.05,
    "foreign: a word of both corrected": 1.55,
    "foreign: a word of both ended": 3.30,
    "foreign: another figure": 2.55,
    "foreign: another with a title": 0.84,
    "foreign: begun after a denial": 2.34,
    "foreign: homes": 5.84,
    "foreign: jobs": 4.55,
    "foreign: measure of one thing": 2.54,
    "found again": 2.60,
    "holder of a role gone": 1.39,
    "homes": 0.76,
    "jobs": 3.23,
    "loosely ended": 2.81,
    "loosely ended, a possession": -2.02,
    "loosely ended, going on": 1.05,
    "loosely ended, where somebody is": 1.12,
    "measure of one thing": 2.81,
    "most words shared": 1.57,
    "moved": 2.91,
    "older tells of change": -1.40,
    "other names": 1.43,
    "passing": -0.52,
    "place of one thing": 2.63,
    "said otherwise now": 2.33,
    "state passed": 5.18,
    "topic changed": 4.40,
    "wish fulfilled": 3.65,
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
    total = _BIAS + sum(_WEIGHTS.get(name, 0.0) for name in found)
    return 1 / (1 + math.exp(-total))


def may_compare(new: Statement, old: Statement) -> bool:
    """Return whether both are about the same and the newer says in earnest that something has changed."""
    return (
        new.is_foreign == old.is_foreign
        and new.tells_of_change
        and not new.is_unreal
        and not new.is_past
        and not old.is_past
        and not (new.is_added and not old.is_added)
        and not (new.is_one_day and not old.is_one_day)
        and not (new.is_of_others and not old.is_of_others)
        and not new.addresses.isdisjoint(old.addresses)
        and (
            new.holder == old.holder
            or _is_named_in(new, old)
            or _takes_role(new, old)
            or _is_users(new, old)
            or _parts_from_partner(new, old)
            or (not new.passed_state.isdisjoint(old.state) and (new.is_foreign or _is_birth(new, old)))
        )
    )


def _ends_a_part(new: Statement, old: Statement, older: str) -> bool:
    """Return whether the newer ends or alters one of several things that the older lists: the others still hold."""
    heads = {phrase.head for phrase in (*new.ended, *new.loosely_ended, *new.altered)}
    objects = {phrase.head for phrase in old.objects} - _WHEN
    if heads.isdisjoint(objects) or objects <= new.words:
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
    has_details = not _DETAILS.isdisjoint(words_before[ended + 1 :])
    return ended >= 0 and bool(others) and (not has_details or not _DETAILS.isdisjoint(words_after))


def features(new: Statement, old: Statement) -> list[str]:
    """Return the features that apply to a pair."""
    if new.is_foreign:
        return _foreign_features(new, old)
    things = _things(old)
    ended = _match(new.ended, things, old)
    loosely = _match(new.loosely_ended, things, old)
    topic = new.topic.head if new.topic is not None else stem(new.holder)
    same_topic = old.topic is not None and topic == old.topic.head and (new.topic is not None or topic not in old.names)
    extra = new.topic.modifiers - old.words - {"new"} if same_topic and new.topic is not None else frozenset()
    is_own = new.holder == old.holder and (
        same_topic or new.topic is old.topic is None or (old.topic is not None and _is_object(old.topic, new, old))
    )
    tells_who_alone = old.is_role and bool(old.names - {topic}) and not new.names - {topic}
    same_entity = is_own or _is_users(new, old) or _is_birth(new, old)
    same_names = all(
        not ours or not theirs or not ours.isdisjoint(theirs)
        for ours, theirs in ((new.names - {topic}, old.names - {topic}), (new.numbers, old.numbers))
    )
    same_verb = new.verb == old.verb != "" and (same_topic or None in (new.topic, old.topic))
    known = {phrase.head for phrase in old.objects} if _is_named_in(new, old) else _roles_or_objects(old)
    objects = {phrase.head for phrase in new.objects} & known
    found_again = bool(objects) and old.verb == stem("lost") and bool(new.obtained)
    has_figures = bool(new.figures and old.figures) and (new.topic is not None or stem(old.holder) != topic)
    of_matter = new.topic.modifiers if new.topic is not None and topic not in old.words else frozenset()
    is_other_kind = _is_another_of_a_kind(new, old)
    units = dict(old.figures)
    other_figure = any(unit in units and units[unit] != digits for unit, digits in new.figures)
    # Not of the 5th floor where the cafe is, after the 4th where the desk is.
    is_near = new.topic is old.topic is None or same_topic or not (new.words & old.words) <= units.keys()
    found = (
        ("ended", ended),
        ("ended, a name", ended and any(phrase.head in old.names for phrase in new.ended)),
        ("loosely ended", loosely),
        ("loosely ended, a possession", loosely and (old.verb == HAVE or _is_topic_lost(new, old))),
        ("loosely ended, going on", loosely and old.is_going_on),
        (
            "loosely ended, where somebody is",
            loosely and ((old.verb == BE and old.topic is None) or old.is_home),
        ),
        ("activity ended", _ends_activity(new, old)),
        ("topic changed", same_topic and not extra and new.is_changed and not tells_who_alone),
        ("said otherwise now", same_verb and bool(objects) and new.is_now),
        ("figure of one unit", other_figure and new.is_changed and is_near),
        ("altered", _match(new.altered, things, old)),
        ("altered, with another figure", bool(new.figures and old.figures) and _match(new.altered, things, old)),
        ("altered, a part", any(not phrase.modifiers.isdisjoint(things) for phrase in new.altered)),
        ("altered, beside a thing of both", bool(new.altered) and bool(objects)),
        ("figure of one topic", has_figures and new.is_changed and topic in old.words),
        ("another dose", _is_another_dose(new, old)),
        ("figure of what was given", bool(new.figures and old.figures) and _is_given_anew(new, old)),
        ("denied now", new.is_denied and new.is_now and bool(objects)),
        ("denied now, what was done", new.is_denied and new.is_now and _says_no_more(new, old)),
        ("homes", new.is_home and old.is_home and not new.is_denied and not new.names <= old.names),
        (
            "place of one thing",
            is_own and bool(new.place[0]) and new.place[0] == old.place[0] and new.place != old.place,
        ),
        (
            "moved",
            new.is_move and new.topic is None and (old.dwells or old.is_home) and is_own and not new.words <= old.words,
        ),
        ("figure of one matter", has_figures and new.is_changed and not of_matter.isdisjoint(old.words)),
        (
            "can do now",
            old.is_denied and not new.is_denied and any(phrase.head == old.verb for phrase in new.begun),
        ),
        ("jobs", new.is_new_job and old.is_job and not new.is_denied and not new.words <= old.words),
        (
            "another partner",
            bool(new.partners and old.partners) and new.is_changed and new.partners.isdisjoint(old.partners),
        ),
        ("state passed", same_entity and same_names and not new.passed_state.isdisjoint(old.state)),
        ("another of a kind", is_other_kind),
        ("another of a kind, now", is_other_kind and new.is_now),
        ("another of a kind, obtained", is_other_kind and bool(new.obtained or new.begun or new.altered or new.ended)),
        ("measure of one thing", new.is_measure and old.is_measure and new.topic == old.topic and other_figure),
        ("holder of a role gone", new.is_gone and _is_holder_of_role(new, old)),
        (
            "figure of one activity",
            same_verb and new.verb not in (BE, HAVE) and new.is_now and bool(new.figures and old.figures),
        ),
        ("activity altered", any(phrase.head == old.verb or old.verb in phrase.modifiers for phrase in new.altered)),
        ("found again", found_again),
        ("begun after a denial", old.is_denied and not new.is_denied and _match(new.begun, things, old)),
        ("wish fulfilled", old.is_wish and old.names <= new.names and _match(new.obtained, things, old)),
        ("passing", new.is_passing),
        ("older tells of change", old.tells_of_change and not (old.is_measure or found_again)),
        ("denied", new.is_denied),
        ("other names", bool(new.names - old.names)),
        ("most words shared", len(new.words & old.words) * 2 > len(old.words)),
    )
    return [name for name, applies in found if applies]


def _foreign_features(new: Statement, old: Statement) -> list[str]:
    shared = {word for word in new.words & old.words if not word.isdigit()}
    # A number alone is a thing where it has ended: `la 208 a été volée`.
    ended = {word for word in new.ended_words & old.words if len(word) >= _TYPE_DIGITS or not word.isdigit()}
    is_move = "moved" in new.kinds
    is_dwelling = "before_places" in new.kinds & old.kinds and not (new.places or old.places) and new.is_changed
    # Not Max's home after the user's.
    is_of_both = new.subject == old.subject or (new.subject <= old.words and old.subject <= new.words)
    # `wohne jetzt in einer Wohnung` after `wohne in einer WG`
    is_elsewhere = not new.places <= old.names or ((is_move or is_dwelling) and not new.words <= old.words)
    counted = (
        ("foreign: a name of both ended", bool(ended & old.names)),
        ("foreign: a word of both ended", bool(ended)),
        ("foreign: homes", is_of_both and new.is_home and old.is_home and "moved" not in old.kinds and is_elsewhere),
        ("foreign: jobs", is_of_both and "new_job" in new.kinds and old.is_job and "new_job" not in old.kinds),
        ("foreign: a word of both altered", any(phrase.head in shared for phrase in new.altered)),
        ("foreign: a word of both corrected", "corrects" in new.kinds and bool(shared)),
        (
            "foreign: begun after a denial",
            "begun" in new.kinds and old.is_denied and not new.is_denied and bool(shared),
        ),
        ("foreign: another figure", bool(shared) and new.is_changed and _differ(new, old)),
        ("another dose", _is_another_dose(new, old)),
        (
            "foreign: another with a title",
            new.is_changed and bool(new.titled and old.titled) and new.titled.isdisjoint(old.titled) and bool(shared),
        ),
        ("foreign: measure of one thing", _is_measured_anew(new, old)),
        ("foreign: a word of both", bool(shared)),
        ("another of a kind", is_of_both and _is_another_of_a_kind(new, old)),
        ("state passed", not old.says_more and not new.passed_state.isdisjoint(old.state)),
    )
    return [name for name, applies in counted if applies]


def _is_another_dose(new: Statement, old: Statement) -> bool:
    """Return whether both tell of a dose of one medicine, and of another one."""
    doses, old_doses = dict(new.doses), dict(old.doses)
    other = any(unit in old_doses and old_doses[unit] != digits for unit, digits in doses.items())
    shared = {word for word in new.words & old.words if not word.isdigit()} - doses.keys()
    return other and bool(shared) and not new.is_denied


def _is_given_anew(new: Statement, old: Statement) -> bool:
    """Return whether somebody got another one of the older's topic: `was given locker 88` after `the locker is 214`."""
    given = {phrase.head for phrase in (*new.obtained, *new.altered)}
    return old.topic is not None and old.topic.head in given and not {*new.figures} & {*old.figures}


def _without_figures(found: frozenset[str]) -> set[str]:
    return {word for word in found if not any(map(str.isdigit, word))}


def _is_measured_anew(new: Statement, old: Statement) -> bool:
    """Return whether both say no more than when or how much one thing is: `chór we wtorki`, `chór jest w piątki`."""
    extra, missing = _without_figures(new.words - old.words), _without_figures(old.words - new.words)
    is_plain = new.is_measure and old.is_measure and not old.is_changed
    # Not of the code of the cellar after that of the gate.
    is_one = new.topic == old.topic and not (extra and missing)
    return is_plain and is_one and len(extra) <= 2 and _differ(new, old)


def _differ(new: Statement, old: Statement) -> bool:
    """Return whether both have figures, others and not of other things: `16 uhr` tells nothing of `4 Jahre`."""
    units, old_units = ({unit for unit, _ in of.figures} for of in (new, old))
    digits, old_digits = ({figure for _, figure in of.figures} for of in (new, old))
    return not units.isdisjoint(old_units) and digits.isdisjoint(old_digits)


def _things(old: Statement) -> dict[str, frozenset[str]]:
    """Return what an older statement is about that may end, each with the words before it."""
    found = {phrase.head: phrase.modifiers for phrase in old.objects}
    if old.topic is not None:
        found[old.topic.head] = old.topic.modifiers
    return {**dict.fromkeys(old.names, frozenset()), **found}


def _match(phrases: tuple[Phrase, ...], things: dict[str, frozenset[str]], old: Statement) -> bool:
    """Return whether one of these phrases names one of the things, and no other kind of it, nor one of several."""
    several = {unit for unit, digits in old.figures if digits.isdigit() and 1 < int(digits) < _MANY}
    return any(
        phrase.head in things and phrase.modifiers <= old.words and (phrase.is_plural or phrase.head not in several)
        for phrase in phrases
    )


def _is_topic_lost(new: Statement, old: Statement) -> bool:
    return old.topic is not None and any(phrase.head == old.topic.head for phrase in new.loosely_ended)


def _is_object(topic: Phrase, new: Statement, old: Statement) -> bool:
    """Return whether the newer tells of the older's topic: of `the importer bug` after `the bug in the importer`."""
    return topic.head in new.words and all(
        phrase.modifiers <= old.words for phrase in new.objects if phrase.head == topic.head
    )


def _is_another_of_a_kind(new: Statement, old: Statement) -> bool:
    """Return whether the newer names another thing of a kind of which one has one: iPhone and Pixel."""
    kinds = {kind for kind, _, _ in old.one_of}
    if (
        not new.is_foreign
        and new.topic is not None
        and new.topic.head not in old.words | {stem(kind) for kind in kinds}
    ):
        return False
    for kind in kinds:
        named = [thing for thing in new.one_of if thing[0] == kind]
        others = [thing for thing in named if not any(_are_one_thing(thing, known) for known in old.one_of)]
        # `switched from Nano to Emacs` says nothing of somebody's Vim.
        if others and (len(named) == 1 or len(others) < len(named)):
            return True
    return False


def _are_one_thing(new: tuple[str, str, str], old: tuple[str, str, str]) -> bool:
    """Return whether both may be the same thing: an iPhone and an iPhone 12."""
    return new[:2] == old[:2] and (new[2] == old[2] or not new[2] or not old[2])


def _says_no_more(new: Statement, old: Statement) -> bool:
    """Return whether the newer has the older's verb and names nothing else: `hasn't smoked`, `isn't mentoring`."""
    return (new.verb == old.verb and not new.objects) or old.words <= new.words


def _ends_activity(new: Statement, old: Statement) -> bool:
    return old.topic is None and any(phrase.head == old.verb and phrase.modifiers <= old.words for phrase in new.ended)


def _is_named_in(new: Statement, old: Statement) -> bool:
    """Return whether the newer is about what the older names of its holder: `Aiko left us` of our designer Aiko."""
    if new.is_foreign:
        return new.topic is not None and new.topic.head in old.names and old.holder.startswith(f"{new.holder} ")
    return new.holder != old.holder and new.topic is None and stem(new.holder) in old.names


def _is_holder_of_role(new: Statement, old: Statement) -> bool:
    """Return whether the newer is about whom the older names as User's manager, or as who shares their flat."""
    if new.topic is not None:
        return False
    is_named = stem(new.holder) in old.names and (old.is_role or old.verb in _SHARING)
    return is_named or (old.is_role and old.topic is None and new.holder == old.holder)


def _parts_from_partner(new: Statement, old: Statement) -> bool:
    """Return whether somebody broke up with whom the older tells of as their partner, who is theirs no more."""
    owner, _, relation = old.holder.partition(" ")
    return owner == new.holder and relation in _PARTNERS and any(of.head in old.names for of in new.ended)


def _is_birth(new: Statement, old: Statement) -> bool:
    """Return whether a child was born to whom the older is about, or to whose partner."""
    owner, _, child = new.holder.partition(" ")
    parent, _, partner = old.holder.partition(" ")
    return child in _NEWBORN and new.topic is None and owner == parent and partner in {"", *_PARTNERS}


def _is_users(new: Statement, old: Statement) -> bool:
    """Return whether what has no owner is the user's: `doc upped the sertraline`, `appointment is at 5 now`."""
    if old.holder != USER or new.topic is not None:
        return False
    is_topic = old.topic is not None and stem(new.holder) == old.topic.head
    # `Goldfish died` after `has a goldfish`
    is_kept = bool(new.ended) and stem(new.holder) in {phrase.head for phrase in old.objects} - old.names
    return is_topic or is_kept or (bool(new.figures) and _match(new.altered, _things(old), old))


def _takes_role(new: Statement, old: Statement) -> bool:
    """Return whether somebody else is now what another was: `Deniz is scrum master now`."""
    if not new.is_now or new.verb != old.verb or stem(new.holder.rpartition(" ")[2]) in old.names | {stem(old.holder)}:
        return False
    return bool({phrase.head for phrase in new.objects} & _roles_or_objects(old))


def _roles_or_objects(old: Statement) -> set[str]:
    """Return what an older statement says that somebody is: of `User's landlord is Mr Shah` the landlord, too."""
    role = {old.topic.head} if old.topic is not None and old.names_holder else set()
    return role | {phrase.head for phrase in old.objects}
