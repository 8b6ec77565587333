"""Things of which one holds at a time: those that a statement names, and whether a newer one names another. Pure."""

import re
from collections.abc import Container, Iterable, Iterator

from pipeline.memory.languages.english import kinds_of_one
from pipeline.memory.outlines.statement import Statement, Thing
from pipeline.memory.outlines.vocabulary import stem


def named_things(text: str, kinds: Iterable[str], needing_context: Container[str]) -> Iterator[Thing]:
    """Yield the things that a text names of kinds of which one holds at a time, some only among words of a context.

    >>> list(named_things("User has an iPhone 12", ["phone"], ["phone"]))
    [('phone', 'thing0', '12')]
    """
    for kind in kinds:
        context, things = kinds_of_one()[kind]
        for match in things.finditer(text) if kind not in needing_context or context.search(text) else ():
            model = re.match(r" ?(\d+)", text[match.end() :])
            yield kind, match.lastgroup or "", "" if model is None else model[1]


def has_another_dose(new: Statement, old: Statement) -> bool:
    """Return whether both tell of a dose of one medicine, and of another one."""
    doses, old_doses = dict(new.doses), dict(old.doses)
    is_other = any(unit in old_doses and old_doses[unit] != digits for unit, digits in doses.items())
    return is_other and bool(shared_words(new, old) - doses.keys()) and not new.says("denied")


def has_another_of_a_kind(new: Statement, old: Statement) -> bool:
    """Return whether the newer names another thing of a kind of which one has one: iPhone and Pixel."""
    kinds = {kind for kind, _, _ in old.one_of}
    if not (new.is_foreign or new.topic is None or new.topic.head in old.words | {*map(stem, kinds)}):
        return False
    for kind in kinds:
        named = [thing for thing in new.one_of if thing[0] == kind]
        others = [thing for thing in named if not any(_may_be_one(thing, known) for known in old.one_of)]
        # `switched from Nano to Emacs` says nothing of somebody's Vim.
        if others and (len(named) == 1 or len(others) < len(named)):
            return True
    return False


def _may_be_one(new: Thing, old: Thing) -> bool:
    """Return whether both may be the same thing: an iPhone and an iPhone 12."""
    return new[:2] == old[:2] and (new[2] == old[2] or not new[2] or not old[2])


def shared_words(new: Statement, old: Statement) -> set[str]:
    """Return the words that both have, without numbers."""
    return {word for word in new.words & old.words if not word.isdigit()}
