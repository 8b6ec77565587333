"""The slots of a fact by every form that fits."""

import re
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache

from pipeline.memory.slots import amounts, claims, people, things
from pipeline.memory.slots.grammar import Form, detail
from pipeline.memory.slots.slot import Slot
from pipeline.memory.slots.values import plain

LONGEST = 240
"""Characters; what is longer says more than one thing."""
REMEMBERED = 4096
"""Texts: a fact is asked about when it is formed, when it is compared, and when it is written."""
_WORDS = re.compile(r"[\w'-]+")
_ASIDE = re.compile(
    r", (?:not (?!because|that|to|only|just|even|so|if|when|until|yet|sure|really)|(?P<more>(?:right |just )?"
    r"(?:(?:close|next) to|not far|near|opposite|beside|outside|off|where|which) ))[^,]+$"
)
"""What only says more about a value, or what it is not: `lives in Porto, close to the river`."""


_FORMS = (*people.FORMS, *things.FORMS, *claims.FORMS, *amounts.FORMS)


def _by_hint() -> dict[str, tuple[int, ...]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(_FORMS):
        for hint in one.hints:
            found[hint].append(at)
    return {hint: tuple(places) for hint, places in found.items()}


_BY_HINT = _by_hint()


@lru_cache(maxsize=REMEMBERED)
def slots(text: str) -> tuple[Slot, ...]:
    """What a fact says about attributes, each once; empty where it isn't safe to tell.

    >>> [(slot.subject, slot.attribute, slot.value) for slot in slots("User now lives in Paris")]
    [('user', 'residence', 'paris')]
    """
    if len(text) > LONGEST:
        return ()
    text = text.strip().rstrip(".!").replace("\u2019", "'")
    aside = _ASIDE.search(text)
    if aside is None:
        return _read(text, "")
    return _read(text[: aside.start()], "" if aside["more"] is None else plain(aside[0]))


def _read(text: str, more: str) -> tuple[Slot, ...]:
    """The slots of a statement; `more` that is said of its values."""
    found: dict[tuple[str, str, str], Slot] = {}
    for one in _fitting(text):
        match = one.pattern.match(text)
        for slot in one.build(match) if match is not None else ():
            if match is not None and slot is not None and slot.value != slot.subject:
                found.setdefault(
                    (*slot.key, slot.replaces or ""), _in_detail(slot, f"{detail(match)} {more}".strip())
                )
    return tuple(found.values())


def _in_detail(slot: Slot, said: str) -> Slot:
    """With the circumstances, whether its form heeds them or not: who drops them says something else."""
    return slot if not said or said in slot.detail else replace(slot, detail=f"{slot.detail} {said}".strip())


def _fitting(text: str) -> list[Form]:
    """The forms of which a hint is in the text, in their order."""
    places = {at for word in _WORDS.findall(text.casefold()) for at in _BY_HINT.get(word, ())}
    return [_FORMS[at] for at in sorted(places)]
