"""The outline of a statement: whom and what it is about, and what it says is so, over or other than it was. Pure."""

from dataclasses import dataclass
from typing import Literal

from pipeline.memory.outlines.figures import DOSE_UNITS, PHONE
from pipeline.memory.outlines.vocabulary import BE, HAVE, USER, stem, stems

_ROLE = "a role"
"""Stands for the holders of a role, who change."""
_WORDS_OF_MEASURE = 4
"""Words of a statement in another language that says no more than how much something is, or when."""
Thing = tuple[str, str, str]
"""A thing of a kind of which one holds at a time: the kind, the thing and its number."""
Mark = Literal[
    "added", "altering", "before_places", "begun", "body", "changed", "corrects", "denied", "dwells", "gone", "home",
    "job", "moved", "new_job", "now", "of_others", "one_day", "passing", "past", "role", "says_more", "to_user",
    "unreal", "wish",
]  # fmt: skip
"""What a statement says by its words. `added`: it holds beside what was said before; `altering`: its verb is one of
change; `before_places`: a preposition before the name of a place; `body`: how tall or heavy somebody is; `dwells`: a
home without its name; `gone`: somebody is no longer there; `of_others`: it is of a neighbour or colleague; `role`: who
holds a role that others held; `says_more`: something that holds when the rest is over; `to_user`: it is done to the
user or what is theirs; `unreal`: what is planned, wished, thought or asked."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: the stem of its last noun, the stems before it, and whether the noun is a plural."""

    head: str
    modifiers: frozenset[str] = frozenset()
    is_plural: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """Outline of a statement.

    `holder`: whom it is about. `topic`: what of theirs it is about. `verb` and `objects`: what it says of them.
    `words`: stems of all that it names; `names`: those with a capital; `figures`: numbers by their unit.
    `ended` and `loosely_ended`: what it says is over, in words that say so for sure or that may mean a moment;
    `altered`: what it says has been changed; `turned_to`: what something or somebody changed to or from; `begun`: what
    it says has begun; `obtained`: what somebody now has. `number`: that of what its subject is one of, such as of room
    4 or gate B. `marks`: what its words say of it. `state`: the passing states that it tells of, such as pregnancy or a
    place in hospital; `passed_state`: those that it says are over.

    Of a statement in another language, `ended_words` are the stems beside the words for an end, `places` the names
    that follow their prepositions, `titled` those that follow a title, and `subject` whom or what it begins with, if
    it is in the third person.
    """

    holder: str
    topic: Phrase | None = None
    verb: str = ""
    objects: tuple[Phrase, ...] = ()
    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    figures: tuple[tuple[str, str], ...] = ()
    ended: tuple[Phrase, ...] = ()
    loosely_ended: tuple[Phrase, ...] = ()
    altered: tuple[Phrase, ...] = ()
    turned_to: tuple[Phrase, ...] = ()
    begun: tuple[Phrase, ...] = ()
    obtained: tuple[Phrase, ...] = ()
    number: str = ""
    marks: frozenset[str] = frozenset()
    one_of: frozenset[Thing] = frozenset()
    state: frozenset[str] = frozenset()
    passed_state: frozenset[str] = frozenset()
    is_foreign: bool = False
    ended_words: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    titled: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()

    def says(self, *marks: Mark) -> bool:
        """Return whether it has one of these marks."""
        return not self.marks.isdisjoint(marks)

    @property
    def changes(self) -> tuple[Phrase, ...]:
        """All that it says is over, other than it was, begun or obtained."""
        return (*self.ended, *self.loosely_ended, *self.altered, *self.turned_to, *self.begun, *self.obtained)

    @property
    def numbers(self) -> frozenset[str]:
        """Figures without a unit, such as those of issues."""
        return frozenset(digits for unit, digits in self.figures if not unit)

    @property
    def keys(self) -> frozenset[str]:
        """Words by which statements that may replace each other are found."""
        heads = {phrase.head for phrase in (*self.objects, *self.changes)}
        heads |= {word for phrase in (*self.altered, *self.turned_to) for word in phrase.modifiers}
        if self.topic is not None:
            heads |= {self.topic.head} | (self.topic.modifiers if self.figures else frozenset())
        said = self.words if self.is_foreign else heads | self.names | {self.verb}
        return frozenset(said | self.state | self.passed_state | self._classes) - {"", BE, HAVE}

    @property
    def _classes(self) -> set[str]:
        """Classes of what it tells of, whatever its words."""
        told = {f"one {kind}" for kind, _, _ in self.one_of}
        told |= {"home"} if self.says("home", "moved", "dwells") else set()
        told |= {"job"} if self.says("job", "new_job") else set()
        units = {unit for unit, _ in self.figures}
        return told | (units & {"@", PHONE}) | ({f"body in {unit}" for unit in units} if self.says("body") else set())

    @property
    def addresses(self) -> frozenset[tuple[str, str]]:
        """Pairs of whom and what a statement is about, of which it shares one with what it replaces."""
        found = {(self.holder, key) for key in self.keys} | {(name, name) for name in self.names}
        speaker, *_ = [*self.holder.split(), ""]
        states = self.state | self.passed_state
        found |= {(speaker, state) for state in (states if self.is_foreign else states & {"pregnant"})}
        if self.is_foreign and self.tells_of_change:
            found |= {(word, word) for word in self.ended_words}  # `andrés y yo cortamos`
        if self.is_done_to_user:
            found |= {(USER, phrase.head) for phrase in self.changes}
        if self.is_foreign or self.topic is not None or self.holder == USER:
            # `User's landlord is Mr Shah`, which `Ms Pratt is the landlord now` ends
            roles = {self.topic.head} if self.topic is not None and self.names_holder else set()
            return frozenset(found | {(_ROLE, role) for role in roles})
        name = stem(self.holder)
        found |= {(_ROLE, phrase.head) for phrase in self.objects if self.verb == BE} | {(USER, name)}
        if self.tells_of_change:
            # Somebody named, or something without an owner, which may be the user's.
            found |= {(name, name)} | {(USER, phrase.head) for phrase in self.altered if self.figures}
        return frozenset(found)

    @property
    def tells_of_change(self) -> bool:
        """True if it says that something is over or other than it was."""
        says_so = self.says("changed", "gone", "new_job", "moved") or self.is_measure or self.denies
        return says_so or bool(self.changes or self.passed_state or self.doses)

    @property
    def denies(self) -> bool:
        """True if it denies something in English, which ends what said just that: `doesn't live in Ghent`."""
        return self.says("denied") and not self.is_foreign

    @property
    def names_holder(self) -> bool:
        """True if it says who is something to the user: `User's landlord is Mr Shah`."""
        if self.topic is None or self.says("role"):
            return self.topic is not None
        is_one = self.topic.head not in stems("ones_of_several")
        return is_one and self.verb == BE and bool(self.names - {self.topic.head})

    @property
    def doses(self) -> frozenset[tuple[str, str]]:
        """Figures with a unit of medicine, of which one holds for a medicine at a time."""
        return frozenset((unit, digits) for unit, digits in self.figures if unit in DOSE_UNITS)

    @property
    def is_done_to_user(self) -> bool:
        """True if somebody else changed what is the user's: `the doctor took User off metformin`."""
        return self.says("to_user") and self.holder != USER and bool(self.changes)

    @property
    def is_measure(self) -> bool:
        """True if it only says how much or which number something is: `The order number is 48417`."""
        if self.is_foreign:
            return len(self.figures) == 1 and len(self.words) <= _WORDS_OF_MEASURE and not self.says("passing")
        is_only_figure = self.topic is not None and self.verb == BE and not self.objects
        return (is_only_figure or self.says("body")) and len(self.figures) == 1
