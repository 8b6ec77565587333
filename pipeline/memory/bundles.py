"""Documents put together for a language model: related ones in one question, long ones in parts. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.memory.writing import Work

PARTS = 12
"""Of one document; the rest of a book is left to the rules."""
BYTES_PER_TOKEN = 3
"""Of UTF-8, for a careful estimate: English has four, Japanese about three."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the text of the `place`-th work, from character `start` on."""

    place: int
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts that are asked about together, and those that rules are to read."""

    bundles: Sequence[Sequence[Part]]
    rest: Sequence[Part]


def planned(works: Sequence[Work], tokens: int) -> Plan:
    """Documents of one `group` together, in their order, as many as fit into so many tokens."""
    bundles: list[list[Part]] = []
    rest: list[Part] = []
    room: dict[str, int] = {}
    latest: dict[str, list[Part]] = {}
    budget = max(1, tokens * BYTES_PER_TOKEN)
    for place, work in enumerate(works):
        key = json.dumps(work.group, sort_keys=True)
        for number, part in enumerate(parts(place, work.text, budget)):
            if number == PARTS:
                rest.append(Part(place, part.start, work.text[part.start :]))
                break
            size = len(part.text.encode(errors="replace"))
            if key not in latest or size > room[key]:
                latest[key], room[key] = [], budget
                bundles.append(latest[key])
            latest[key].append(part)
            room[key] -= size
    return Plan(bundles, rest)


def parts(place: int, text: str, budget: int) -> Iterator[Part]:
    """A text in pieces of at most so many bytes, cut between lines or sentences where there are any."""
    start = 0
    while start < len(text):
        end = _fitting(text, start, budget)
        if end < len(text):
            end = _seam(text, start, end)
        if text[start:end].strip():
            yield Part(place, start, text[start:end])
        start = end


def _fitting(text: str, start: int, budget: int) -> int:
    """How far so many bytes reach; at least one character."""
    piece = text[start : start + budget].encode(errors="replace")[:budget]
    return start + max(1, len(piece.decode(errors="ignore")))


def _seam(text: str, start: int, end: int) -> int:
    """The last good place to cut in the second half of a piece."""
    middle = (start + end) // 2
    for mark in ("\n\n", "\n", ". ", " "):
        if (at := text.rfind(mark, middle, end)) >= 0:
            return at + len(mark)
    return end
