"""A slot of a fact, and what two of them mean for each other."""

from dataclasses import dataclass
from typing import Literal

from pipeline.memory.places import is_region
from pipeline.memory.slots import kinds
from pipeline.memory.slots.times import clash

Kind = Literal["exact", "name", "phrase", "time"]
NOT = "not "
"""Begins the value of a fact that says what is no longer, or was never."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Whose attribute (`subject`), which, and its value, in lower case and without articles.

    `replaces`: the only old value that this one contradicts (`switched from A to B`, `no longer uses A`).
    `single` False: several values stand beside each other, so only a named old value is replaced, or any
    where the fact says that it is instead (`marked`). `detail` is what else the fact says: two facts say the
    same only with the same detail. `kind`: whether values may be more or less exact (Berlin, East Berlin).
    `every`: it denies a kind (`no longer has cats`), so however many and whichever there were.
    """

    subject: str
    attribute: str
    value: str
    replaces: str | None = None
    single: bool = True
    kind: Kind = "exact"
    detail: str = ""
    marked: bool = False
    every: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What two facts must share to be about the same thing."""
        return self.subject, self.attribute

    @property
    def denies(self) -> bool:
        """Whether it says what is not."""
        return self.value.startswith(NOT)


def contradicts(new: Slot, old: Slot) -> bool:
    """Whether the newer slot makes the older one untrue; in doubt it does not."""
    if new.key != old.key or new.value == old.value:
        return False
    if old.denies:
        return not new.denies and (new.single or f"{NOT}{new.value}" == old.value or _ends(new, old))
    if new.replaces is not None:
        return is_named(new.replaces, old.value) or _is_denied(new, old)
    if not ((new.single and old.single) or new.marked):
        return False
    if "time" in (new.kind, old.kind):
        return clash(new.value, old.value) or (new.marked and new.kind == old.kind)
    return not _is_refinement(new, old)


def repeats(new: Slot, old: Slot) -> bool:
    """Whether both say the very same, in whatever words."""
    return (new.key, new.value, new.detail) == (old.key, old.value, old.detail)


def is_named(named: str, value: str) -> bool:
    """Whether a phrase names a value that may be said in more detail: `vim` and `vim with forty plugins`."""
    if named == value:
        return True
    rest = value.removeprefix(f"{named} ")
    if rest == value:
        return False
    return kinds.goes_on(rest.split()[0])


def naming(value: str) -> list[str]:
    """Every phrase that names a value.

    >>> naming("vim with forty plugins")
    ['vim', 'vim with forty plugins']
    """
    said = value.split(" ")
    places = [place for place in range(1, len(said)) if said[place] and kinds.goes_on(said[place])]
    return [*(" ".join(said[:place]) for place in places), value]


def _is_denied(new: Slot, old: Slot) -> bool:
    """Whether the newer denies the kind of what the older has: no cats, so not two cats either."""
    return new.every and new.replaces is not None and kinds.is_of(old.attribute, old.value, new.replaces)


def _ends(new: Slot, old: Slot) -> bool:
    """Whether the newer has some of a kind that the older denies."""
    return old.every and old.replaces is not None and kinds.ends(new.attribute, new.value, old.replaces)


def _is_refinement(new: Slot, old: Slot) -> bool:
    """Berlin and East Berlin, nurse and head nurse, Paris and France: more or less exact, not different."""
    if "exact" in (new.kind, old.kind):
        return new.kind != old.kind
    ours, theirs = new.value.replace(",", "").split(), old.value.replace(",", "").split()
    if set(ours) & set(theirs):
        return not _differ_in_one(ours, theirs)
    return new.attribute == "residence" and is_region(new.value) != is_region(old.value)


def _differ_in_one(ours: list[str], theirs: list[str]) -> bool:
    """Data analyst and data engineer, Pixel 6 and Pixel 8: one word was put for another."""
    if len(ours) != len(theirs):
        return False
    return sum(one != other for one, other in zip(ours, theirs, strict=True)) == 1
