"""Memories that were replaced, and those that hold instead: who asks what the one answers, gets the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from pipeline.index.candidates import Candidates, Part
from pipeline.index.live import Visible
from pipeline.index.scoring import Question
from pipeline.rows import MemoryColumns


@dataclass(frozen=True, slots=True)
class Succession:
    """Places among candidates: of memories that were replaced, and beside each one that holds instead."""

    replaced: NDArray[np.intp]
    heirs: NDArray[np.intp]


def succeeded(question: Question, found: Candidates) -> tuple[Candidates, Succession]:
    """The candidates with those that hold instead, also where they share no word with the question."""
    memories = list(dict.fromkeys(one.part for one in found.found if _remembers(one.part)))
    pairs = [
        (at, heir)
        for at in np.flatnonzero(~found.holds).tolist()
        for heir in _heirs(memories, *found.place(at))
    ]
    for part in dict.fromkeys(part for _, (part, _) in pairs):
        missing = {row for _, (other, row) in pairs if other is part and found.at(part, row) is None}
        if missing:
            found = found.beside(question, part, np.array(sorted(missing), np.intp))
    places = [(at, place) for at, heir in pairs if (place := found.at(*heir)) is not None]
    replaced, heirs = np.array(places, np.intp).reshape(-1, 2).T
    return found, Succession(replaced, heirs)


def _remembers(part: Part) -> TypeGuard[Visible[MemoryColumns]]:
    return isinstance(part.segment.columns, MemoryColumns)


def _heirs(
    memories: Sequence[Visible[MemoryColumns]], part: Part, row: int
) -> Iterator[tuple[Visible[MemoryColumns], int]]:
    """The newest versions of a memory that was replaced, over all between; none of one that was forgotten."""
    if not _remembers(part) or part.segment.columns.forgotten[row]:
        return
    ahead = [part.segment.columns.ids[row]]
    seen = set(ahead)
    while ahead:
        target = ahead.pop()
        for other in memories:
            columns = other.segment.columns
            for newer in other.segment.lookup.updating.get(target, ()):
                if other.segment.dead[newer] or columns.ids[newer] in seen:
                    continue
                seen.add(columns.ids[newer])
                if not columns.is_latest[newer]:
                    ahead.append(columns.ids[newer])
                elif not columns.forgotten[newer] and (other.mask is None or other.mask[newer]):
                    yield other, newer
