"""Features of two statements in another language than English, of which the newer may end the older. Pure."""

from collections.abc import Iterator

from pipeline.memory.outlines.other_things import has_another_dose, has_another_of_a_kind, shared_words
from pipeline.memory.outlines.statement import Statement

MAX_WORDS = 8
"""Content words of a statement up to which one that another has tells that both are about it: of more, one is shared
by chance. Each of 94 open pairs that nothing else tells has at most 8 on both sides (decision 0021)."""
_TYPE_DIGITS = 3
"""Digits of a number that may name a thing: `208`."""


def foreign_features(new: Statement, old: Statement) -> list[str]:
    """Return the features that apply to a pair."""
    return [name for name, applies in (*_of_words(new, old), *_of_lives(new, old)) if applies]


def _of_words(new: Statement, old: Statement) -> Iterator[tuple[str, bool]]:
    are_brief = max(len(new.words), len(old.words)) <= MAX_WORDS
    # A number alone is a thing where it has ended: `la 208 a été volée`.
    ended = {word for word in new.ended_words & old.words if len(word) >= _TYPE_DIGITS or not word.isdigit()}
    yield "foreign: a word of both ended", are_brief and bool(ended)
    shared = shared_words(new, old) if are_brief else set()
    is_changed = bool(shared) and new.says("changed")
    yield "foreign: a word of both altered", any(phrase.head in shared for phrase in new.altered)
    yield "foreign: a word of both corrected", bool(shared) and new.says("corrects")
    is_affirmed = old.says("denied") and not new.says("denied")
    yield "foreign: begun after a denial", bool(shared) and new.says("begun") and is_affirmed
    yield "foreign: another figure", is_changed and _differ(new, old)
    yield "another dose", has_another_dose(new, old)
    is_titled = bool(new.titled and old.titled) and new.titled.isdisjoint(old.titled)
    yield "foreign: another with a title", is_changed and is_titled
    yield "foreign: measure of one thing", _is_measured_anew(new, old)
    yield "foreign: a word of both", bool(shared)
    # Not of who is named as somebody's sister or son.
    is_named = " " not in old.holder and not new.subject.isdisjoint(old.names)
    yield "foreign: whom it names has moved", is_named and new.says("moved")


def _of_lives(new: Statement, old: Statement) -> Iterator[tuple[str, bool]]:
    # Not Max's home after the user's.
    is_of_one = new.subject == old.subject or (new.subject <= old.words and old.subject <= new.words)
    names_place = new.says("before_places") and old.says("before_places")
    is_dwelling = names_place and not (new.places or old.places) and new.says("changed")
    # `wohne jetzt in einer Wohnung` after `wohne in einer WG`
    is_other = (new.says("moved") or is_dwelling) and not new.words <= old.words
    has_home = old.says("home") and not old.says("moved")
    is_elsewhere = new.says("home") and (is_other or not new.places <= old.names)
    yield "foreign: homes", is_of_one and has_home and is_elsewhere
    has_job = old.says("job") and not old.says("new_job")
    yield "foreign: jobs", is_of_one and has_job and new.says("new_job")
    yield "another of a kind", is_of_one and has_another_of_a_kind(new, old)
    yield "state passed", not old.says("says_more") and not new.passed_state.isdisjoint(old.state)


def _is_measured_anew(new: Statement, old: Statement) -> bool:
    """Return whether both say no more than when or how much one thing is: `chór we wtorki`, `chór jest w piątki`."""
    extra, missing = _without_figures(new.words - old.words), _without_figures(old.words - new.words)
    is_plain = new.is_measure and old.is_measure and not old.says("changed")
    # Not of the code of the cellar after that of the gate.
    is_one = _head(new) == _head(old) and not (extra and missing)
    return is_plain and is_one and len(extra) <= 2 and _differ(new, old)


def _without_figures(found: frozenset[str]) -> set[str]:
    return {word for word in found if not any(map(str.isdigit, word))}


def _differ(new: Statement, old: Statement) -> bool:
    """Return whether both have figures, others and not of other things: `16 uhr` tells nothing of `4 Jahre`."""
    units, old_units = ({unit for unit, _ in of.figures} for of in (new, old))
    digits, old_digits = ({figure for _, figure in of.figures} for of in (new, old))
    # Nor the bank's code of the one that is known.
    is_of_one = new.topic is None or new.topic.modifiers <= old.words
    return is_of_one and not units.isdisjoint(old_units) and digits.isdisjoint(old_digits)


def _head(said: Statement) -> str:
    return "" if said.topic is None else said.topic.head
