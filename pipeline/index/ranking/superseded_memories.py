"""Successors of superseded memories: a query that matches an old version also finds the current one."""

from collections.abc import Iterator, Sequence
from typing import TypeGuard

import numpy as np

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.candidates import AnySegmentView, Candidates, SuccessorPairs
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import MemoryColumns


def expand_successors(query: AnalyzedQuery, candidates: Candidates) -> tuple[Candidates, SuccessorPairs]:
    """Add the current successors of superseded candidates, also those that share no term with the query."""
    views = list(dict.fromkeys(rows.view for rows in candidates.scored_rows if _holds_memories(rows.view)))
    pairs = [
        (position, successor)
        for position in np.flatnonzero(~candidates.is_current).tolist()
        for successor in _successors_of(views, *candidates.locate(position))
    ]
    for view in dict.fromkeys(view for _, (view, _) in pairs):
        missing = {row for _, (other, row) in pairs if other is view and candidates.position_of(view, row) is None}
        if missing:
            candidates = candidates.with_rows(query, view, np.array(sorted(missing), np.intp))
    positions = [
        (position, successor_position)
        for position, successor in pairs
        if (successor_position := candidates.position_of(*successor)) is not None
    ]
    superseded, successors = np.array(positions, np.intp).reshape(-1, 2).T
    return candidates, SuccessorPairs(superseded, successors)


def _holds_memories(view: AnySegmentView) -> TypeGuard[SegmentView[MemoryColumns]]:
    return isinstance(view.segment.columns, MemoryColumns)


def _successors_of(
    views: Sequence[SegmentView[MemoryColumns]], view: AnySegmentView, row: int
) -> Iterator[tuple[SegmentView[MemoryColumns], int]]:
    """The newest versions that a memory's update relations lead to; none for a forgotten memory."""
    if not _holds_memories(view) or view.segment.columns.forgotten[row]:
        return
    queue = [view.segment.columns.ids[row]]
    seen = set(queue)
    while queue:
        target = queue.pop()
        for other in views:
            columns = other.segment.columns
            for newer in other.segment.lookup.updates_by_target.get(target, ()):
                if other.segment.deleted[newer] or columns.ids[newer] in seen:
                    continue
                seen.add(columns.ids[newer])
                if not columns.is_latest[newer]:
                    queue.append(columns.ids[newer])
                elif not columns.forgotten[newer] and (other.mask is None or other.mask[newer]):
                    yield other, newer
