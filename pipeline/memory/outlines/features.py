"""Features of two English statements, of which the newer may end the older, as the regression weighs them. Pure."""

from collections.abc import Callable, Iterator
from functools import cached_property

from pipeline.memory.outlines.foreign_features import foreign_features
from pipeline.memory.outlines.other_things import has_another_dose, has_another_of_a_kind
from pipeline.memory.outlines.shared_subject import (
    ends_service,
    is_birth,
    is_holder_of_role,
    is_named_in,
    is_users,
    names_thing_of,
    roles_or_objects,
    takes_role,
    things_of,
)
from pipeline.memory.outlines.statement import Phrase, Statement
from pipeline.memory.outlines.vocabulary import BE, HAVE, stem

Features = Iterator[tuple[str, bool]]
"""Names of features with whether each applies."""


class _Pair:
    """A newer and an older statement, and what both have in common."""

    def __init__(self, new: Statement, old: Statement) -> None:
        self.new, self.old = new, old

    @cached_property
    def topic(self) -> str:
        """Stem of what the newer is about."""
        return self.new.topic.head if self.new.topic is not None else stem(self.new.holder)

    @cached_property
    def has_one_topic(self) -> bool:
        """True if the older is about the same, whoever has it."""
        is_same = self.old.topic is not None and self.topic == self.old.topic.head
        return is_same and (self.new.topic is not None or self.topic not in self.old.names)

    @cached_property
    def is_of_one(self) -> bool:
        """True if both are about the same of the same holder."""
        new, old = self.new, self.old
        is_same = self.has_one_topic or new.topic is old.topic is None
        return new.holder == old.holder and (is_same or (old.topic is not None and _tells_of(new, old, old.topic)))

    @cached_property
    def has_one_verb(self) -> bool:
        """True if both say the same of what may be one thing."""
        is_comparable = self.has_one_topic or None in (self.new.topic, self.old.topic)
        return self.new.verb == self.old.verb != "" and is_comparable

    @cached_property
    def objects(self) -> set[str]:
        """Stems of what both say something of."""
        heads = {phrase.head for phrase in self.old.objects}
        known = heads if is_named_in(self.new, self.old) else roles_or_objects(self.old)
        return {phrase.head for phrase in self.new.objects} & known

    @cached_property
    def is_found_again(self) -> bool:
        """True if somebody has again what they had lost."""
        return bool(self.objects) and self.old.verb == stem("lost") and bool(self.new.obtained)

    @cached_property
    def has_other_figure(self) -> bool:
        """True if a unit of both has another figure."""
        units = dict(self.old.figures)
        return any(unit in units and units[unit] != digits for unit, digits in self.new.figures)

    @cached_property
    def has_one_unit(self) -> bool:
        """True if both have figures of one unit."""
        return not dict(self.new.figures).keys().isdisjoint(dict(self.old.figures))

    @cached_property
    def both_have_figures(self) -> bool:
        """True if both have figures of any unit."""
        return bool(self.new.figures and self.old.figures)

    @cached_property
    def is_of_others(self) -> bool:
        """True if the newer is about something that the older doesn't name, or about whom it doesn't."""
        new, old = self.new, self.old
        if new.topic is not None:
            return self.topic not in old.words | old.names
        return not (new.holder == old.holder or is_named_in(new, old) or takes_role(new, old))

    @cached_property
    def is_in_another_respect(self) -> bool:
        """True if the newer says of the same something else than the older: what it has now, not where it is."""
        new, old = self.new, self.old
        is_same = new.says("altering") or new.verb == BE or (new.verb == old.verb != HAVE)
        return not (is_same or self.objects or self.has_other_figure or new.verb == "")

    def names(self, phrases: tuple[Phrase, ...]) -> bool:
        """Return whether one of these phrases of the newer is something that the older is about."""
        return names_thing_of(self.old, phrases)


def features(new: Statement, old: Statement) -> list[str]:
    """Return the features that apply to a pair."""
    if new.is_foreign:
        return foreign_features(new, old)
    pair = _Pair(new, old)
    return [name for group in _GROUPS for name, applies in group(pair) if applies]


def _of_ends(pair: _Pair) -> Features:
    new, old = pair.new, pair.old
    ended = pair.names(new.ended) or ends_service(new, old)
    loosely = pair.names(new.loosely_ended)
    loosely = loosely and not (pair.is_of_others and new.topic is not None)
    yield "ended", ended
    yield "loosely ended", loosely
    had = {of.head for of in (old.topic, *old.obtained) if of is not None}
    is_had = old.verb == HAVE or not had.isdisjoint(of.head for of in new.loosely_ended)
    yield "loosely ended, a possession", loosely and is_had
    is_activity = any(phrase.head == old.verb and phrase.modifiers <= old.words for phrase in new.ended)
    yield "activity ended", old.topic is None and is_activity


def _of_changes(pair: _Pair) -> Features:
    new, old = pair.new, pair.old
    is_same = pair.has_one_topic and (new.topic is None or new.topic.modifiers <= old.words | {"new"})
    tells_who_alone = old.says("role") and bool(old.names - {pair.topic}) and not new.names - {pair.topic}
    is_changed = is_same and new.says("changed") and not (tells_who_alone or pair.is_in_another_respect)
    yield "topic changed", is_changed
    yield "topic changed, by what it got", is_changed and bool(new.obtained) and not pair.names(new.obtained)
    yield "said otherwise now", pair.has_one_verb and bool(pair.objects) and new.says("now") and not pair.is_of_others
    yield "altered", pair.names(new.altered)
    yield "altered, a part", any(not phrase.modifiers.isdisjoint(things_of(old)) for phrase in new.altered)
    tells_a_name = old.topic is not None and pair.objects <= old.names
    is_turned = bool(new.turned_to) and not (pair.is_of_others or tells_a_name)
    yield "altered, beside a thing of both", (is_turned or pair.names(new.altered)) and bool(pair.objects)
    yield "activity altered", any(old.verb in {of.head, *of.modifiers} for of in (*new.altered, *new.turned_to))


def _of_figures(pair: _Pair) -> Features:
    new, old = pair.new, pair.old
    is_changed = new.says("changed")
    # Not of the 5th floor where the cafe is, after the 4th where the desk is.
    units = {unit for unit, _ in old.figures} - old.names
    is_near = new.topic is old.topic is None or pair.has_one_topic
    is_near = is_near or (not pair.is_of_others and not new.words & old.words <= units)
    is_near = is_near or pair.names(new.altered)
    # `Mia started year 2` says nothing of the age of Mia.
    is_changed = is_changed and (new.topic is not None or pair.topic not in old.names or pair.has_one_verb)
    yield "figure of one unit", pair.has_other_figure and is_changed and is_near
    is_comparable = pair.has_one_unit and (new.topic is not None or stem(old.holder) != pair.topic)
    yield "another dose", has_another_dose(new, old)
    yield "figure of what was given", pair.both_have_figures and _is_given_anew(new, old)
    of_matter = new.topic.modifiers if new.topic is not None and pair.topic not in old.words else frozenset()
    yield "figure of one matter", is_comparable and is_changed and not of_matter.isdisjoint(old.words)
    is_activity = pair.has_one_verb and new.verb not in (BE, HAVE)
    yield "figure of one activity", is_activity and new.says("now") and pair.both_have_figures
    is_measure = new.is_measure and old.is_measure and new.topic == old.topic
    yield "measure of one thing", is_measure and pair.has_other_figure


def _of_denials(pair: _Pair) -> Features:
    new, old = pair.new, pair.old
    is_denied_now = new.says("denied") and new.says("now")
    yield "denied now", is_denied_now and bool(pair.objects) and not pair.is_of_others
    is_said = pair.has_one_verb and pair.is_of_one and bool(pair.objects)
    is_all = not (new.words - old.words or new.figures)
    yield "denied as it was said", new.denies and not old.denies and is_said and is_all
    is_affirmed = old.says("denied") and not new.says("denied")
    is_all = not (old.words - new.words or old.figures)
    yield "affirmed as it was denied", is_affirmed and new.says("changed") and is_said and is_all
    yield "can do now", is_affirmed and any(phrase.head == old.verb for phrase in new.begun)
    yield "begun after a denial", is_affirmed and pair.names(new.begun)


def _of_lives(pair: _Pair) -> Features:
    new, old = pair.new, pair.old
    is_affirmed, is_other = not new.says("denied"), not new.words <= old.words
    yield "homes", new.says("home") and old.says("home") and is_affirmed and not new.names <= old.names
    is_move = new.says("moved") and new.topic is None and old.says("dwells", "home")
    yield "moved", is_move and pair.is_of_one and is_other
    yield "jobs", new.says("new_job") and old.says("job") and is_affirmed and is_other
    yield "holder of a role gone", new.says("gone") and is_holder_of_role(new, old)


def _of_states_and_kinds(pair: _Pair) -> Features:
    new, old = pair.new, pair.old
    own = {pair.topic}
    is_one = pair.is_of_one or is_users(new, old) or is_named_in(new, old) or is_birth(new, old)
    is_one = is_one and _may_share(new.names - own, old.names - own) and _may_share(new.numbers, old.numbers)
    yield "state passed", is_one and not new.passed_state.isdisjoint(old.state)
    yield "another of a kind", has_another_of_a_kind(new, old)
    yield "found again", pair.is_found_again
    yield "wish fulfilled", old.says("wish") and old.names <= new.names and pair.names(new.obtained)


def _of_circumstances(pair: _Pair) -> Features:
    new, old = pair.new, pair.old
    yield "older tells of change", old.tells_of_change and not (old.is_measure or pair.is_found_again)
    yield "other names", bool(new.names - old.names)
    yield "most words shared", len(new.words & old.words) * 2 > len(old.words)


_GROUPS: tuple[Callable[[_Pair], Features], ...] = (
    _of_ends, _of_changes, _of_figures, _of_denials, _of_lives, _of_states_and_kinds, _of_circumstances,
)  # fmt: skip


def _tells_of(new: Statement, old: Statement, topic: Phrase) -> bool:
    """Return whether the newer tells of the older's topic: of `the importer bug` after `the bug in the importer`."""
    return topic.head in new.words and all(
        phrase.modifiers <= old.words for phrase in new.objects if phrase.head == topic.head
    )


def _is_given_anew(new: Statement, old: Statement) -> bool:
    """Return whether somebody got another one of the older's topic: `was given locker 88` after `the locker is 214`."""
    given = {phrase.head for phrase in (*new.obtained, *new.altered)}
    return old.topic is not None and old.topic.head in given and not {*new.figures} & {*old.figures}


def _may_share(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    return not ours or not theirs or not ours.isdisjoint(theirs)
