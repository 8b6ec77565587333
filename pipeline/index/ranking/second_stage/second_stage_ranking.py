"""Second-stage ranking of the candidates: features of their text and date, and links of memories to chunks."""

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.candidates import Candidates, SuccessorPairs
from pipeline.index.ranking.ranking_parameters import MEMORY_PENALTY, NEWER_MAX_CHARS
from pipeline.index.ranking.search_request_and_hits import Rescore, SearchRequest
from pipeline.index.ranking.second_stage.cue_features import add_neighbor_feature, cue_gains, limit_lead
from pipeline.index.ranking.second_stage.memory_chunk_support import (
    MemoryChunkAlignment,
    add_support,
    align,
    best_memory_scores,
    propagate_to_successors,
)
from pipeline.index.ranking.second_stage.other_answers import lower_other_answers, lower_without_names
from pipeline.index.ranking.second_stage.statement_comparison import compare_best_statements
from pipeline.index.ranking.second_stage.statement_order import (
    put_asker_first,
    put_newer_first,
    put_statements_first,
    put_telling_first,
)
from pipeline.index.ranking.second_stage.verbatim_text import put_verbatim_first
from pipeline.index.segments.document_store import DocumentStore


def apply_second_stage(
    query: AnalyzedQuery,
    candidates: Candidates,
    successors: SuccessorPairs,
    documents: DocumentStore,
    request: SearchRequest,
) -> Candidates:
    """Rescore the candidates, among them the successors of superseded memories; a pure function.

    Texts that are far from being a result are not read. The features that the request adds come before it is decided
    which of the best answer and hold now.
    """
    if "chunk" in request.kinds:
        memories = np.flatnonzero(~candidates.is_chunk)
        candidates = candidates.with_contribution("memory", np.full(len(memories), -MEMORY_PENALTY), memories)
    if len(successors.superseded):  # what is no answer makes none of its successor
        candidates = lower_other_answers(query, candidates, np.zeros(len(candidates), np.bool_))
    aligned = align(candidates)
    candidates, replacing = _relate_memories_and_chunks(
        query, candidates, successors, aligned, documents, limit=request.limit
    )
    if request.rescore is not None:
        candidates = _rescore_best(candidates, request.limit, request.rescore)
    candidates = lower_without_names(query, lower_other_answers(query, candidates, replacing))
    return put_verbatim_first(query, _order_statements(query, candidates, aligned, documents))


def _order_statements(
    query: AnalyzedQuery, candidates: Candidates, aligned: MemoryChunkAlignment, documents: DocumentStore
) -> Candidates:
    """Order the best statements by whom they are about, what they tell, and which holds now."""
    comparison = compare_best_statements(query, candidates, aligned, documents)
    if comparison is None:
        return candidates
    if query.intent.asks_about_asker and not query.intent.asks_for_person:
        candidates = put_asker_first(query, candidates, comparison)
    candidates = put_telling_first(query, candidates, comparison)
    candidates = put_statements_first(query, candidates, comparison.with_scores(candidates))
    return put_newer_first(query, candidates, comparison.with_scores(candidates))


def compare_by_passages(candidates: Candidates) -> Candidates:
    """Compare memories by the short passages that they were formed from as well, and leave all passages out.

    A memory may lack words that the question means. What a passage leads its best memory by is added to all of its
    memories, which keep their order.
    """
    aligned = align(candidates)
    memories, chunks = aligned.memory_positions, aligned.chunk_positions
    best = best_memory_scores(candidates, aligned, np.ones(len(memories), np.bool_))
    leads = candidates.scores[chunks] - best[chunks]
    raised = np.flatnonzero(leads > 0.0)
    raised = raised[[len(candidates.text(at)) <= NEWER_MAX_CHARS for at in chunks[raised].tolist()]]
    return candidates.with_contribution("passage", leads[raised], memories[raised]).only_memories()


def _relate_memories_and_chunks(
    query: AnalyzedQuery,
    candidates: Candidates,
    successors: SuccessorPairs,
    aligned: MemoryChunkAlignment,
    documents: DocumentStore,
    *,
    limit: int,
) -> tuple[Candidates, NDArray[np.bool_]]:
    """Add text features, and what memories, their successors and chunks say of each other; with the rows raised so."""
    candidates = add_neighbor_feature(query, candidates)
    best = candidates.scores.max(where=candidates.is_eligible, initial=-np.inf)
    gains = cue_gains(query, candidates, documents, limit)
    for factor, amounts in gains.items():
        rows = np.flatnonzero(amounts)
        candidates = candidates.with_contribution(factor, amounts[rows], rows)
    candidates, replacing = propagate_to_successors(candidates, successors)
    candidates, replacing_chunks = add_support(query, candidates, successors, aligned)
    return limit_lead(candidates, best) if gains else candidates, replacing | replacing_chunks


def _rescore_best(candidates: Candidates, limit: int, rescore: Rescore) -> Candidates:
    """Order the best by further features, which make no answer of what is none: the first keeps its score."""
    best = candidates.best_positions(limit)
    gains = rescore([candidates.text(at) for at in best.tolist()])
    if not gains:
        return candidates
    highest = float(candidates.scores[best[0]])
    gains["borderlineOffset"] = np.full(len(best), -sum(float(amounts[0]) for amounts in gains.values()))
    for factor, amounts in gains.items():
        candidates = candidates.with_contribution(factor, amounts, best)
    return limit_lead(candidates, highest)
