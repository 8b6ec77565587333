"""What the forms of slots are made of."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pipeline.memory.slots.slot import NOT, Kind, Slot
from pipeline.memory.slots.values import NEUTRAL, as_subject, as_value, plain
from pipeline.memory.verbs import words

NAME = r"[A-Z][\w-]*\w(?:'[A-Z]\w+)?(?: (?:[A-Z][\w-]*\w|van|von|de|da|al|el)){0,2}"
RELATIVE = r"'s (?:[a-z][a-z-]*[ -]){0,2}?[a-z][a-z-]+"
WHO = rf"(?P<s>{NAME}(?:{RELATIVE})?|(?:The|Our|Their) [a-z][\w -]{{0,30}}?)"
"""Somebody, somebody's somebody, or a named group."""
THING = r"(?P<s>[\w#][\w' .+#/&-]{0,60}?)"
NOW = r"(?:(?:now|currently|actually|officially|just|recently|finally|still|already) )*"
PLACE = r"(?P<v>(?:the )?[A-Z][\w.'-]*\w(?:,? (?:[A-Z][\w.'-]*\w|de|la|del|am|upon|of|the(?= [A-Z])))*)"
NAMED = r"(?P<v>[A-Z0-9][\w.&'+-]*(?: (?:[A-Z0-9&][\w.&'+-]*|of|and|the|for|de)(?!\w))*)"
FREE = r"(?P<v>[^,;:()]+?)"
OLD = r"(?P<o>[^,;:()]{1,40}?)"
GONE = r"(?P<n>[^,;:()]+?)"
_ONE_NAME = r"[A-Z][\w-]*\w"
_NAMES = rf"{_ONE_NAME}(?:(?:, | and |, and ){_ONE_NAME})*"
CALLED = (
    rf"(?P<called>, (?:(?:named|called) )?{_NAMES}|"
    rf" (?:named|called) {_ONE_NAME}(?:, {_ONE_NAME})*,? and {_ONE_NAME})?"
)
"""How those are called of whom somebody has some; one that is `a dog named Rex` remains that dog."""
TAIL = (
    rf"(?P<tail>(?:,? (?:{NEUTRAL}|(?:since|as of|starting|from|this|last|next|after|before|until|because|"
    r"with|in|at|on|for|by|near|during|every|over|once|twice)\b.*?))*)\.?$"
)
_NEUTRAL = re.compile(rf",? (?:{NEUTRAL})(?= |$)")
INSTEAD = re.compile(r"\b(?:now|instead|from now on|these days|nowadays)\b")

Build = Callable[[re.Match[str]], Iterable[Slot | None]]


@dataclass(frozen=True, slots=True)
class Form:
    """A pattern of a whole fact, the slots it fills, and words of which one must be there (`hints`)."""

    pattern: re.Pattern[str]
    build: Build
    hints: frozenset[str]


def form(pattern: str, build: Build, hints: str, *, tail: bool = True) -> Form:
    """A form that begins with the fact and, after its `tail` of circumstances, ends with it."""
    return Form(re.compile(f"^{pattern}{TAIL if tail else '$'}"), build, words(hints))


def valued(
    attribute: str | Callable[[re.Match[str]], str | None],
    *,
    kind: Kind = "name",
    single: bool = True,
    changes: bool = False,
) -> Build:
    """One slot: group `s` has `v`. `changes`: the words say that it is new, so it is not the mere state.

    Several stand beside each other unless `single`, or where the fact says `now` or `instead`.
    """

    def build(match: re.Match[str]) -> Iterable[Slot | None]:
        name = attribute if isinstance(attribute, str) else attribute(match)
        slot = filled(match, name, match["v"], kind=kind, single=single)
        if slot is not None and changes:
            slot = replace(slot, marked=True, detail=f"changed {slot.detail}".strip())
        elif slot is not None and not single:
            slot = replace(slot, marked=INSTEAD.search(match.string) is not None)
        yield slot

    return build


def ended(*attributes: str) -> Build:
    """The old value in group `n` holds no longer."""

    def build(match: re.Match[str]) -> Iterable[Slot | None]:
        gone = as_value(match["n"])
        for attribute in attributes:
            slot = filled(match, attribute, match["n"], single=False)
            if slot is not None and gone is not None:
                yield replace(slot, value=f"{NOT}{gone}", replaces=gone)

    return build


def filled(
    match: re.Match[str], attribute: str | None, value: str, *, kind: Kind = "exact", single: bool = True
) -> Slot | None:
    """A slot of subject `s`, if subject and value can be such."""
    subject, folded = as_subject(match["s"]), as_value(value)
    if attribute is None or subject is None or folded is None:
        return None
    return Slot(subject, attribute, folded, single=single, kind=kind, detail=detail(match))


def detail(match: re.Match[str]) -> str:
    """What the circumstances behind a value say, without words like `now`."""
    said = match.groupdict()
    return plain(f"{said.get('called') or ''}{_NEUTRAL.sub('', said.get('tail') or '')}")
