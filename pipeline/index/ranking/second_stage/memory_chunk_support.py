"""Successors of superseded memories, and scores that memories, successors and their chunks pass on to each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.array_operations import concatenate
from pipeline.index.ranking.candidates import AnySegmentView, Candidates, SuccessorPairs
from pipeline.index.ranking.ranking_parameters import (
    MANY_THINGS_MIN_CHARS,
    MEMORY_SUPPORT_FACTOR,
    MIN_ANSWER_SIMILARITY,
    OUTDATED_CHUNK_PENALTY,
    STATED_IN_CHUNK_PENALTY,
)
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import MemoryColumns

_MAX_DOCUMENT_CHARS = np.int64(1) << 40
"""Above any document's length: `ordinal * this + offset` orders positions of all documents by one number."""


@dataclass(frozen=True, slots=True)
class MemoryChunkAlignment:
    """Positions of memories, and beside each the position of the chunk it was extracted from."""

    memory_positions: NDArray[np.intp]
    chunk_positions: NDArray[np.intp]


def align(candidates: Candidates) -> MemoryChunkAlignment:
    """Find the chunk of each memory among the candidates."""
    return align_memories_to_chunks(candidates.document_ordinals, candidates.is_chunk, *_text_spans(candidates))


def align_memories_to_chunks(
    document_ordinals: NDArray[np.int32],
    is_chunk: NDArray[np.bool_],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> MemoryChunkAlignment:
    """Find each memory's chunk among the rows: the last that begins before the memory and contains its start.

    `starts` and `ends` are offsets in the document; a memory has only a start (-1: unknown).
    """
    memories, chunks = np.flatnonzero(~is_chunk & (starts >= 0)), np.flatnonzero(is_chunk)
    if not len(memories) or not len(chunks):
        return MemoryChunkAlignment(memories[:0], chunks[:0])
    order_keys = document_ordinals * _MAX_DOCUMENT_CHARS + starts
    chunks = chunks[np.lexsort((ends[chunks], order_keys[chunks]))]
    before = order_keys[chunks].searchsorted(order_keys[memories], side="right") - 1
    nearest = chunks[before]
    contained = (
        (before >= 0) & (document_ordinals[nearest] == document_ordinals[memories]) & (starts[memories] < ends[nearest])
    )
    return MemoryChunkAlignment(memories[contained], nearest[contained])


def _text_spans(candidates: Candidates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and end of each row in its document; the end of a memory is 0."""
    starts, ends = [], []
    for group in candidates.scored_rows:
        columns = group.view.segment.columns
        starts.append(columns.starts[group.rows])
        if isinstance(columns, MemoryColumns):
            ends.append(np.zeros(len(group.rows), np.int64))
        else:
            ends.append(columns.ends[group.rows])
    return concatenate(starts, np.int64), concatenate(ends, np.int64)


def best_memory_scores(
    candidates: Candidates, alignment: MemoryChunkAlignment, selected: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The best score among the selected memories of each chunk, by its position; -inf where there is none."""
    best = np.full(len(candidates), -np.inf)
    np.maximum.at(best, alignment.chunk_positions[selected], candidates.scores[alignment.memory_positions[selected]])
    return best


def expand_successors(query: AnalyzedQuery, candidates: Candidates) -> tuple[Candidates, SuccessorPairs]:
    """Add the current successors of superseded candidates, also those that share no term with the query."""
    views = list(dict.fromkeys(rows.view for rows in candidates.scored_rows if _holds_memories(rows.view)))
    pairs = [
        (position, successor)
        for position in np.flatnonzero(~candidates.is_current).tolist()
        for successor in _successors_of(views, *candidates.locate(position))
    ]
    if not pairs:
        return candidates, SuccessorPairs(*np.zeros((2, 0), np.intp))
    known = candidates.memory_positions()
    if missing := {successor for _, successor in pairs} - known.keys():
        for view in views:
            if rows := sorted(row for other, row in missing if other is view):
                candidates = candidates.with_rows(query, view, np.array(rows, np.intp))
        known = candidates.memory_positions()
    positions = [(position, known[successor]) for position, successor in pairs]
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


def propagate_to_successors(candidates: Candidates, successors: SuccessorPairs) -> tuple[Candidates, NDArray[np.bool_]]:
    """Raise memories to at least the score of the memories they superseded."""
    return _raise_scores(candidates, successors.successors, candidates.scores[successors.superseded])


def add_support(
    query: AnalyzedQuery, candidates: Candidates, successors: SuccessorPairs, aligned: MemoryChunkAlignment
) -> tuple[Candidates, NDArray[np.bool_]]:
    """Add what memories and the chunks that state them say of each other; with the chunks raised so."""
    if not len(aligned.memory_positions):
        return candidates, np.zeros(len(candidates), np.bool_)
    current = candidates.is_current[aligned.memory_positions]
    support = best_memory_scores(candidates, aligned, current)
    outdated_support = best_memory_scores(candidates, aligned, ~current)
    supported = np.flatnonzero(support > 0.0)
    candidates = candidates.with_contribution("memorySupport", MEMORY_SUPPORT_FACTOR * support[supported], supported)
    answering_score = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    outdated = outdated_support > np.maximum(support, answering_score)
    leading = np.flatnonzero(outdated & (candidates.scores > outdated_support))
    outdated[leading[_say_several_things(candidates, leading)]] = False
    candidates, replacing_chunks = _propagate_to_chunks(
        candidates, successors, aligned, np.where(outdated, outdated_support, np.inf)
    )
    penalties = np.full(np.count_nonzero(outdated), -OUTDATED_CHUNK_PENALTY)
    candidates = candidates.with_contribution("outdated", penalties, outdated)
    candidates = _raise_to_support(candidates, support)
    scores = candidates.scores
    repeated = aligned.memory_positions[current & (scores[aligned.chunk_positions] >= scores[aligned.memory_positions])]
    penalties = np.full(len(repeated), -STATED_IN_CHUNK_PENALTY)
    return candidates.with_contribution("statedInChunk", penalties, repeated), replacing_chunks


def _raise_to_support(candidates: Candidates, support: NDArray[np.float64]) -> Candidates:
    """Raise chunks that say several things to the score of their best memory, whose vector is that of one thing."""
    lead = np.flatnonzero(support > candidates.scores)
    lead = lead[_say_several_things(candidates, lead)]
    return candidates.with_contribution("memorySupport", support[lead] - candidates.scores[lead], lead)


def _say_several_things(candidates: Candidates, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    return np.array([len(candidates.text(at)) >= MANY_THINGS_MIN_CHARS for at in rows.tolist()], np.bool_)


def _propagate_to_chunks(
    candidates: Candidates,
    successors: SuccessorPairs,
    alignment: MemoryChunkAlignment,
    superseded_answer_scores: NDArray[np.float64],
) -> tuple[Candidates, NDArray[np.bool_]]:
    """Raise the chunks of successors to at least the score of the chunks of superseded memories.

    `superseded_answer_scores`: by position of a chunk, the score of the superseded memory that answers for
    it; infinite where none does.
    """
    chunk_of = np.full(len(candidates), -1, np.intp)
    chunk_of[alignment.memory_positions] = alignment.chunk_positions
    before, after = chunk_of[successors.superseded], chunk_of[successors.successors]
    moved = (before >= 0) & (after >= 0) & (before != after)
    moved &= candidates.scores[successors.superseded] >= superseded_answer_scores[before]
    return _raise_scores(candidates, after[moved], candidates.scores[before[moved]])


def _raise_scores(
    candidates: Candidates, rows: NDArray[np.intp], min_scores: NDArray[np.float64]
) -> tuple[Candidates, NDArray[np.bool_]]:
    """Raise each of these rows to at least its minimum score, and return which were below it."""
    raised = candidates.scores.copy()
    np.maximum.at(raised, rows, min_scores)
    higher = raised > candidates.scores
    return candidates.with_contribution("supersedes", (raised - candidates.scores)[higher], higher), higher
