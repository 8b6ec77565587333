"""Characters of a page with their boxes: its lines, and where a text stands on it. Pure, without pdfium.

Boxes are left, top, width and height in shares of the page, as it is shown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from unicodedata import category, normalize

Box = tuple[float, float, float, float]
_IGNORED: Final = re.compile(r"[\s\u00ad#*|_`\\]")
"""Parsers treat white space, soft hyphens and characters of Markdown differently."""
_BEGINNINGS: Final = (None, 160, 60)
"""Lengths of the beginnings that are looked for: a text may go on at the next page."""


@dataclass(frozen=True, slots=True)
class PageCharacter:
    """Character on a line of a page; `box` is None for spaces and line ends, which have none."""

    text: str
    line: int
    box: Box | None


@dataclass(frozen=True, slots=True)
class PageLine:
    text: str
    box: Box


def lines_of(characters: Iterable[PageCharacter]) -> list[PageLine]:
    lines = []
    for _, group in groupby(characters, key=lambda one: one.line):
        members = list(group)
        text, boxes = "".join(one.text for one in members), [one.box for one in members if one.box]
        if boxes and text.strip():
            lines.append(PageLine(text.strip(), _enclosing(boxes)))
    return lines


def find_boxes(characters: Sequence[PageCharacter], text: str) -> list[Box]:
    """Return a box for each line of the first place where a text, or its beginning, stands; none if it does not."""
    folded = [(part, character) for character in characters for part in fold(character.text)]
    page, wanted = "".join(part for part, _ in folded), fold(text)
    for length in _BEGINNINGS:
        sought = wanted[:length]
        if sought and (start := page.find(sought)) >= 0:
            return [line.box for line in lines_of(_once(one for _, one in folded[start : start + len(sought)]))]
    return []


def fold(text: str) -> str:
    r"""Drop what parsers treat differently: case, composition, spaces, hyphens, characters of Markdown.

    >>> fold("**Caf\u00e9**-\n owner"), fold("\uff21")
    ('cafe\u0301owner', 'a')
    """
    kept = _IGNORED.sub("", normalize("NFKD", text)).casefold()
    return "".join(one for one in kept if category(one) != "Pd")


def _once(characters: Iterable[PageCharacter]) -> Iterator[PageCharacter]:
    """A ligature folds to several letters, but has one box."""
    return (one for one, _ in groupby(characters))


def _enclosing(boxes: Sequence[Box]) -> Box:
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    return left, top, right - left, bottom - top
