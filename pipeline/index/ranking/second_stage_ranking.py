"""Second-stage ranking of the candidates: features of their text and date, and links of memories to chunks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.array_operations import concatenate, kth_largest
from pipeline.index.ranking.candidates import AnySegmentView, Candidates, SuccessorPairs
from pipeline.index.ranking.learned.answer_kinds import AskedKind
from pipeline.index.ranking.learned.newer_statement import (
    StatementPair,
    tells_another_home,
    usual_likeness,
)
from pipeline.index.ranking.query_intent import MAX_SPEAKER_NAME_CHARS
from pipeline.index.ranking.ranking_parameters import (
    ALIKE_MIN_COSINE,
    CUE_DECAY_SCORE,
    CUE_LEAD_SHARE,
    FEATURE_RANKS_PER_RESULT,
    FULL_CUE_SIMILARITY,
    MANY_THINGS_MIN_CHARS,
    MEMORY_PENALTY,
    MEMORY_SUPPORT_FACTOR,
    MIN_ANSWER_SIMILARITY,
    MIN_FEATURE_RANKS,
    NEWER_CANDIDATES,
    NEWER_MAX_CHARS,
    NEWEST_MAX_DIFFERENCE,
    NO_NUMBER_MAX_SIMILARITY,
    NOT_TELLING_LOG_ODDS,
    OTHER_RELATIVE_MAX_SIMILARITY,
    OUTDATED_CHUNK_PENALTY,
    RELATIVE_MAX_SIMILARITY,
    SAME_QUESTION_COSINE,
    STATED_IN_CHUNK_PENALTY,
    TELLING_LOG_ODDS,
    TELLING_MAX_LEAD,
    UNKNOWN_NAME_PENALTY,
)
from pipeline.index.ranking.search_request_and_hits import Rescore, ScoreFactor, SearchRequest
from pipeline.index.segments.document_store import DocumentStore
from pipeline.index.segments.segment_list import SegmentView
from pipeline.packed_vectors import unpack
from pipeline.rows import ChunkColumns, MemoryColumns, Vector
from pipeline.text.analyzer import fold, is_in_latin_script
from pipeline.text.statement_words import (
    is_general_question,
    named_beings,
    names_directly,
    relative_in_subject,
    says_contact,
    says_number,
    told_relations,
)
from pipeline.text.succession import tells_of_plan

_NAME_STEM_CHARS = 3
"""Least length of what the forms of a name have in common, and most letters that they differ in at their end."""
_RAISE = 0.01
"""How far a newer statement is put above an older one."""
_MAX_DOCUMENT_CHARS = np.int64(1) << 40
"""Above any document's length: `ordinal * this + offset` orders positions of all documents by one number."""


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
        candidates = _lower_other_answers(query, candidates, np.zeros(len(candidates), np.bool_))
    aligned = align_memories_to_chunks(candidates.document_ordinals, candidates.is_chunk, *_text_spans(candidates))
    candidates, replacing = _relate_memories_and_chunks(
        query, candidates, successors, aligned, documents, limit=request.limit
    )
    if request.rescore is not None:
        candidates = _rescore_best(candidates, request.limit, request.rescore)
    candidates = _lower_without_names(query, _lower_other_answers(query, candidates, replacing))
    comparison = _compare_best(query, candidates, aligned, documents)
    if comparison is None:
        return candidates
    if query.intent.asks_about_asker and not query.intent.asks_for_person:
        candidates = _put_asker_first(query, candidates, comparison)
    candidates = _put_telling_first(query, candidates, comparison)
    candidates = _put_statements_first(query, candidates, comparison.with_scores(candidates))
    return _put_newer_first(query, candidates, comparison.with_scores(candidates))


def compare_by_passages(candidates: Candidates) -> Candidates:
    """Compare memories by the short passages that they were formed from as well, and leave all passages out.

    A memory may lack words that the question means. What a passage leads its best memory by is added to all of its
    memories, which keep their order.
    """
    aligned = align_memories_to_chunks(candidates.document_ordinals, candidates.is_chunk, *_text_spans(candidates))
    memories, chunks = aligned.memory_positions, aligned.chunk_positions
    best = _best_memory_scores(candidates, aligned, np.ones(len(memories), np.bool_))
    leads = candidates.scores[chunks] - best[chunks]
    raised = np.flatnonzero(leads > 0.0)
    raised = raised[[len(candidates.text(at)) <= NEWER_MAX_CHARS for at in chunks[raised].tolist()]]
    return candidates.with_contribution("passage", leads[raised], memories[raised]).only_memories()


def _rescore_best(candidates: Candidates, limit: int, rescore: Rescore) -> Candidates:
    """Order the best by further features, which make no answer of what is none: the first keeps its score."""
    positions = np.argsort(-candidates.scores, kind="stable")
    best = positions[candidates.is_eligible[positions]][:limit]
    gains = rescore([candidates.text(at) for at in best.tolist()])
    if not gains:
        return candidates
    highest = float(candidates.scores[best[0]])
    gains["borderlineOffset"] = np.full(len(best), -sum(float(amounts[0]) for amounts in gains.values()))
    for factor, amounts in gains.items():
        candidates = candidates.with_contribution(factor, amounts, best)
    return _limit_lead(candidates, highest)


def _lower_other_answers(query: AnalyzedQuery, candidates: Candidates, spared: NDArray[np.bool_]) -> Candidates:
    """Lower short statements that do not tell what the question asks for: of whom, a number, a kind of answer.

    Passages of any length are lowered that have no phone number where one is asked for.
    `spared`: rows that replaced an answer, and so are one, though they may tell no number or job.
    """
    for factor, max_similarity, is_other in _other_answers(query):
        highest = query.calibration.raw_score_at(max_similarity)
        above = np.flatnonzero((candidates.scores > highest) & ~spared).tolist()
        longest = np.inf if factor == "noNumber" else NEWER_MAX_CHARS
        texts = {at: text for at in above if len(text := candidates.text(at)) <= longest}
        lowered = {at: highest for at, text in texts.items() if is_other(text)}
        candidates = _set_scores(candidates, factor, lowered)
    return _lower_other_kinds(query, candidates, spared)


def _lower_without_names(query: AnalyzedQuery, candidates: Candidates) -> Candidates:
    """Lower what answers a question about somebody or something that nothing here names.

    A name in another form (*Pawłowi* for "Paweł") or in another script may be there all the same.
    """
    names = query.unknown_names
    if not names:
        return candidates
    answering = np.flatnonzero(candidates.scores > query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)).tolist()
    texts = {at: fold(candidates.text(at)) for at in answering}
    missing = sum(not any(_name_stem(name) in text for text in texts.values()) for name in names)
    spared = [
        at for at, text in texts.items() if any(is_in_latin_script(text) != is_in_latin_script(name) for name in names)
    ]
    lowered = np.delete(np.arange(len(candidates)), spared)  # also what is no answer: the order stays
    amounts = np.full(len(lowered), -UNKNOWN_NAME_PENALTY * missing)
    return candidates.with_contribution("unknownName", amounts, lowered) if missing else candidates


def _name_stem(name: str) -> str:
    """Return the beginning of a name that its forms have in common."""
    return name[: max(_NAME_STEM_CHARS, len(name) - _NAME_STEM_CHARS)]


def _other_answers(query: AnalyzedQuery) -> Iterator[tuple[ScoreFactor, float, Callable[[str], object]]]:
    """Yield the highest similarity of a short statement that a function tells to be no answer to the question."""
    intent, kind = query.intent, query.asked_kind
    if intent.asks_about_asker_alone:
        yield "relative", RELATIVE_MAX_SIMILARITY, relative_in_subject
    if asked := intent.asked_relations:
        yield "relative", OTHER_RELATIVE_MAX_SIMILARITY, lambda text: _is_about_other_relative(text, asked)
    if (named := intent.named_beings) and kind is not None and kind.is_name:
        yield "otherKind", OTHER_RELATIVE_MAX_SIMILARITY, lambda text: _names_others(text, named)
    if contact := intent.asks_for_contact:
        yield "noNumber", NO_NUMBER_MAX_SIMILARITY, lambda text: not says_contact(text, contact)
    elif intent.asks_for_number:
        yield "noNumber", NO_NUMBER_MAX_SIMILARITY, lambda text: not says_number(text)


def _names_others(text: str, named: frozenset[str]) -> bool:
    told = named_beings(text)
    return bool(told) and named.isdisjoint(told)


def _lower_other_kinds(query: AnalyzedQuery, candidates: Candidates, spared: NDArray[np.bool_]) -> Candidates:
    """Lower short statements that do not tell the kind of answer that the question asks for."""
    kind = query.asked_kind
    if kind is None:
        return candidates
    lowered: dict[int, float] = {}
    first = 0
    within_reach = (candidates.scores > query.calibration.raw_score_at(1.0 - kind.probability)) & ~spared
    for group in candidates.scored_rows:
        segment, end = group.view.segment, first + len(group.rows)
        if query.vectors_comparable(segment.columns.vectors):
            own = np.flatnonzero(within_reach[first:end])
            highest = query.max_similarity_by_kind(kind, segment, group.rows[own])
            for at, similarity in zip((first + own).tolist(), highest.tolist(), strict=True):
                score = query.calibration.raw_score_at(similarity)
                if candidates.scores[at] > score and _is_untold(query, kind, candidates.text(at)):
                    lowered[at] = score
        first = end
    return _set_scores(candidates, "otherKind", lowered)


def _is_untold(query: AnalyzedQuery, kind: AskedKind, text: str) -> bool:
    """Return whether a text is short, and does not say the name asked for along with something else.

    "My nephew Otto turns six" tells his name, too.
    """
    named = query.intent.named_beings
    return len(text) <= NEWER_MAX_CHARS and not (kind.is_name and named and names_directly(text, named))


def _is_about_other_relative(text: str, asked: frozenset[int]) -> bool:
    told = told_relations(text)
    return bool(told) and asked.isdisjoint(told) and relative_in_subject(text) != ""


def _put_asker_first(query: AnalyzedQuery, candidates: Candidates, comparison: "_Comparison") -> Candidates:
    """Lower a statement about a relative below one about the asker that is alike and an answer itself."""
    answering_score = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    lowered: dict[int, float] = {}
    for own, asker in enumerate(comparison.statements):
        if asker.score < answering_score or relative_in_subject(asker.text):
            continue
        for other, relative in enumerate(comparison.statements):
            alike = comparison.cosine(own, other) - (comparison.usual[other] or 0.0) >= ALIKE_MIN_COSINE
            if alike and relative.score >= asker.score and relative_in_subject(relative.text):
                lowered[relative.position] = min(lowered.get(relative.position, relative.score), asker.score - _RAISE)
    return _set_scores(candidates, "relative", lowered)


def _put_telling_first(query: AnalyzedQuery, candidates: Candidates, comparison: "_Comparison") -> Candidates:
    """Lower what does not tell the kind of answer asked for below an answer that does, if it leads little; and a plan.

    "I'm a dental hygienist in Auckland" before "We moved to Wellington last week": the one is a job, the other a home.
    "We may move to Napier" is no answer while a home is known.
    """
    answering_score = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    told = list(zip(comparison.statements, comparison.kind_log_odds, strict=True))
    telling = [
        each
        for each, log_odds in told
        if log_odds is not None
        and log_odds > TELLING_LOG_ODDS
        and each.score >= answering_score
        and not tells_of_plan(each.text)
    ]
    lowered: dict[int, float] = {}
    for other, log_odds in told if telling else ():
        is_plan = not query.intent.asks_for_plan and tells_of_plan(other.text)
        passed = [
            each.score
            for each in telling
            if 0.0 <= other.score - each.score < (np.inf if is_plan else TELLING_MAX_LEAD)
            and relative_in_subject(each.text) == relative_in_subject(other.text)
        ]
        if log_odds is not None and (is_plan or log_odds < NOT_TELLING_LOG_ODDS) and passed:
            lowered[other.position] = min(passed) - _RAISE
    return _set_scores(candidates, "otherKind", lowered)


def _put_statements_first(query: AnalyzedQuery, candidates: Candidates, comparison: "_Comparison") -> Candidates:
    """Lower a general question below the best answer that is none: "Is a car better than a bicycle?" tells nothing.

    One that means about what is asked now may be what is looked for.
    """
    best = max((each.score for each in comparison.statements if not is_general_question(each.text)), default=-np.inf)
    if best < query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY):
        return candidates
    lowered = {
        each.position: best - _RAISE
        for each in comparison.statements
        if each.score >= best and each.cosine < SAME_QUESTION_COSINE and is_general_question(each.text)
    }
    return _set_scores(candidates, "otherKind", lowered)


def _put_newer_first(query: AnalyzedQuery, candidates: Candidates, comparison: "_Comparison") -> Candidates:
    """Raise a statement above an older one about the same thing: nothing else knows that it holds no more.

    Of several that may have replaced it, the newest of those that are about as much like it and like the question.
    """
    statements = comparison.statements
    raised: dict[int, float] = {}
    for old, older in enumerate(statements):
        merits = {
            new: merit
            for new, newer in enumerate(statements)
            if newer.score <= older.score
            and newer.time > older.time
            and (merit := _merit_instead(query, comparison, old, new)) is not None
        }
        if merits:
            least = max(merits.values()) - NEWEST_MAX_DIFFERENCE
            newest = max((statements[new] for new, merit in merits.items() if merit >= least), key=lambda new: new.time)
            raised[newest.position] = max(raised.get(newest.position, newest.score), older.score + _RAISE)
    return _set_scores(candidates, "newer", raised)


def _set_scores(candidates: Candidates, factor: ScoreFactor, scores: dict[int, float]) -> Candidates:
    """Give the candidates at these positions these scores; the difference is the factor's contribution."""
    rows = np.array(list(scores), np.intp)
    return candidates.with_contribution(factor, np.array(list(scores.values())) - candidates.scores[rows], rows)


def _merit_instead(query: AnalyzedQuery, comparison: "_Comparison", old: int, new: int) -> float | None:
    """Return how well one of the statements answers instead of another of the same speaker; None where it does not."""
    older, newer = comparison.statements[old], comparison.statements[new]
    if newer.speaker != older.speaker:
        return None
    pair = StatementPair(
        older.text,
        newer.text,
        likeness=comparison.cosine(old, new),
        usual_likeness=comparison.usual[new],
        older_cosine=older.cosine,
        newer_cosine=newer.cosine,
        newer_similarity=query.calibration.similarity(newer.score),
        kind_log_odds=comparison.kind_log_odds[new],
        older_kind_log_odds=comparison.kind_log_odds[old],
        older_change=comparison.change_log_odds[old],
        newer_change=comparison.change_log_odds[new],
        about_asker=query.intent.asks_about_asker,
        is_newer_of_another_kind=comparison.are_of_another_kind[new],
        asks_for_home=query.asked_kind is not None and query.asked_kind.is_home,
        meaning_log_odds=float(comparison.meanings[old, new]),
        older_lead=older.score - newer.score,
        is_newer_passage=newer.is_passage,
        row_count=query.row_count,
    )
    if not query.answers_instead(pair):
        return None
    return np.inf if tells_another_home(pair) else pair.likeness + newer.cosine


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The best short statements, their cosines with each other, and the cosine each has with others anyway."""

    statements: list["_Statement"]
    cosines: NDArray[np.float32]
    usual: list[float | None]
    kind_log_odds: list[float | None]
    """Those that each tells the kind of answer that the question asks for; None where it asks for no known one."""
    are_of_another_kind: list[bool]
    """Whether each tells another kind of answer instead."""
    change_log_odds: list[float]
    """Those that each tells of a change."""
    meanings: NDArray[np.float32]
    """What the meanings of an older one (row) and a newer one (column) add to those that the newer answers instead."""

    def with_scores(self, candidates: Candidates) -> "_Comparison":
        """The same with the scores that the candidates have now."""
        scored = [replace(each, score=float(candidates.scores[each.position])) for each in self.statements]
        return replace(self, statements=scored)

    def cosine(self, one: int, other: int) -> float:
        """The cosine of two statements."""
        return float(self.cosines[one, other])


def _compare_best(
    query: AnalyzedQuery, candidates: Candidates, aligned: "MemoryChunkAlignment", documents: DocumentStore
) -> _Comparison | None:
    """Compare the statements among the best candidates; None where there are fewer than two."""
    positions = np.argsort(-candidates.scores, kind="stable")
    best = positions[candidates.is_eligible[positions]][:NEWER_CANDIDATES].tolist()
    calibration = query.calibration
    if calibration.common_part is None or calibration.told_changes is None or calibration.answer_kinds is None:
        return None
    if calibration.statement_meanings is None:
        return None
    said = _facts_of_conversations(query, candidates, aligned, best)
    statements = [
        statement
        for position in best
        if (statement := _statement_at(query, candidates, documents, position, said.get(position, position)))
    ]
    if len(statements) < 2:
        return None
    directions = calibration.common_part.directions_of(np.stack([each.vector for each in statements]))
    likeness = directions @ directions.T
    usual = usual_likeness(likeness, candidates.document_ordinals[[each.position for each in statements]].tolist())
    told, others = calibration.answer_kinds.told_by(directions, query.asked_kind)
    changes = calibration.told_changes.log_odds(directions).tolist()
    meanings = calibration.statement_meanings.log_odds(directions)
    return _Comparison(statements, likeness, usual, told, others, changes, meanings)


def _facts_of_conversations(
    query: AnalyzedQuery, candidates: Candidates, aligned: "MemoryChunkAlignment", best: Sequence[int]
) -> dict[int, int]:
    """Return for each of the best that holds several lines where the fact in it is that is nearest to the question.

    Turns of a conversation are no statement, and their vector is none of one: what a memory has of them is compared.
    """
    talks = {at for at in best if candidates.is_chunk[at] and "\n" in candidates.text(at)}
    if not talks:
        return {}
    nearest: dict[int, tuple[float, int]] = {}
    for memory, chunk in zip(aligned.memory_positions.tolist(), aligned.chunk_positions.tolist(), strict=True):
        if chunk in talks and candidates.is_current[memory]:
            view, row = candidates.locate(memory)
            found = query.row_cosine(unpack(view.segment.columns.vectors[row])), memory
            nearest[chunk] = max(nearest.get(chunk, found), found)
    return {chunk: memory for chunk, (_, memory) in nearest.items()}


@dataclass(frozen=True, slots=True)
class _Statement:
    """A short candidate: place, score, cosine with the query, time, speaker (empty without a name), vector and text.

    `is_passage`: a chunk, and not a memory.
    """

    position: int
    score: float
    cosine: float
    time: tuple[date, int]
    speaker: str
    vector: Vector
    text: str
    is_passage: bool


def _statement_at(
    query: AnalyzedQuery, candidates: Candidates, documents: DocumentStore, position: int, said_at: int
) -> _Statement | None:
    """The statement at a position, in the words at another one; None for a longer text, or one without a vector."""
    view, row = candidates.locate(said_at)
    columns, document = view.segment.columns, documents.get(int(candidates.document_ordinals[position]))
    text, vector = columns.texts[row], unpack(columns.vectors[row])
    if document is None or len(text) > NEWER_MAX_CHARS or not vector.any():
        return None
    speaker, colon, _ = text[:MAX_SPEAKER_NAME_CHARS].partition(":")
    time = (document.effective_date, document.created_at)
    cosine = query.row_cosine(vector)
    if said_at != position:
        own, at = candidates.locate(position)
        cosine = max(cosine, query.row_cosine(unpack(own.segment.columns.vectors[at])))
    score, is_passage = float(candidates.scores[position]), bool(candidates.is_chunk[position])
    return _Statement(position, score, cosine, time, speaker if colon else "", vector, text, is_passage)


def _relate_memories_and_chunks(
    query: AnalyzedQuery,
    candidates: Candidates,
    successors: SuccessorPairs,
    aligned: "MemoryChunkAlignment",
    documents: DocumentStore,
    *,
    limit: int,
) -> tuple[Candidates, NDArray[np.bool_]]:
    """Add text features, and what memories, their successors and chunks say of each other; with the rows raised so."""
    candidates = _add_neighbor_feature(query, candidates)
    best = candidates.scores.max(where=candidates.is_eligible, initial=-np.inf)
    gains = _cue_gains(query, candidates, documents, limit)
    for factor, amounts in gains.items():
        rows = np.flatnonzero(amounts)
        candidates = candidates.with_contribution(factor, amounts[rows], rows)
    candidates, replacing = _propagate_to_successors(candidates, successors)
    candidates, replacing_chunks = _add_support(query, candidates, successors, aligned)
    return _limit_lead(candidates, best) if gains else candidates, replacing | replacing_chunks


def _add_support(
    query: AnalyzedQuery, candidates: Candidates, successors: SuccessorPairs, aligned: "MemoryChunkAlignment"
) -> tuple[Candidates, NDArray[np.bool_]]:
    """Add what memories and the chunks that state them say of each other; with the chunks raised so."""
    if not len(aligned.memory_positions):
        return candidates, np.zeros(len(candidates), np.bool_)
    current = candidates.is_current[aligned.memory_positions]
    support = _best_memory_scores(candidates, aligned, current)
    outdated_support = _best_memory_scores(candidates, aligned, ~current)
    supported = np.flatnonzero(support > 0.0)
    candidates = candidates.with_contribution("memorySupport", MEMORY_SUPPORT_FACTOR * support[supported], supported)
    answering_score = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    outdated = outdated_support > np.maximum(support, answering_score)
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
    lead = lead[[len(candidates.text(at)) >= MANY_THINGS_MIN_CHARS for at in lead.tolist()]]
    return candidates.with_contribution("memorySupport", support[lead] - candidates.scores[lead], lead)


def _propagate_to_successors(
    candidates: Candidates, successors: SuccessorPairs
) -> tuple[Candidates, NDArray[np.bool_]]:
    """Raise memories to at least the score of the memories they superseded."""
    return _raise_scores(candidates, successors.successors, candidates.scores[successors.superseded])


def _propagate_to_chunks(
    candidates: Candidates,
    successors: SuccessorPairs,
    alignment: "MemoryChunkAlignment",
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


def _best_memory_scores(
    candidates: Candidates, alignment: "MemoryChunkAlignment", selected: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The best score among the selected memories of each chunk, by its position; -inf where there is none."""
    best = np.full(len(candidates), -np.inf)
    np.maximum.at(best, alignment.chunk_positions[selected], candidates.scores[alignment.memory_positions[selected]])
    return best


def _add_neighbor_feature(query: AnalyzedQuery, candidates: Candidates) -> Candidates:
    """Add what the passages before and after a short passage mean of the query, but make no answer of it by that."""
    start, answering_score = 0, query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    for group in candidates.scored_rows:
        rows = start + np.arange(len(group.rows))
        start += len(group.rows)
        if _holds_chunks(group.view) and query.vectors_comparable(group.view.segment.columns.vectors):
            gains = query.neighbor_contribution(group.view, group.rows).astype(np.float64)
            missing = np.maximum(answering_score - candidates.scores[rows], 1e-6)
            below = candidates.scores[rows] < answering_score
            gains = np.where(below, missing * -np.expm1(-gains / missing), gains)
            gaining = np.flatnonzero(gains > 0.0)
            candidates = candidates.with_contribution("neighbor", gains[gaining], rows[gaining])
    return candidates


def _holds_chunks(view: AnySegmentView) -> TypeGuard[SegmentView[ChunkColumns]]:
    return isinstance(view.segment.columns, ChunkColumns)


def _cue_gains(
    query: AnalyzedQuery, candidates: Candidates, documents: DocumentStore, limit: int
) -> dict[ScoreFactor, NDArray[np.float64]]:
    """Gains of speakers, times, numbers and dates: they order what is of about the same merit, and make no answer."""
    merits = _merits(query, candidates)
    cues = _text_cues(query, candidates, merits, limit) | _date_cue(query, candidates, documents)
    if not cues:
        return {}
    gains = {factor: amounts * merits for factor, amounts in cues.items()}
    total: NDArray[np.float64] = np.add.reduce(list(gains.values()))
    shares = _answerless_gains(query, candidates, total) / np.maximum(total, 1e-9)
    return {factor: amounts * shares for factor, amounts in gains.items()}


def _answerless_gains(query: AnalyzedQuery, candidates: Candidates, gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound the gains of short statements that are no answers: they only come closer to the threshold."""
    missing = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY) - candidates.scores
    gaining = np.flatnonzero((gains > 0.0) & (missing > 0.0))
    short = gaining[[len(candidates.text(at)) <= NEWER_MAX_CHARS for at in gaining.tolist()]]
    bounded = gains.copy()
    bounded[short] = missing[short] * -np.expm1(-gains[short] / missing[short])
    return bounded


def _limit_lead(candidates: Candidates, best: float) -> Candidates:
    """Lower what has come above the best score without cues by most of its lead, in the same order."""
    leads = np.flatnonzero(candidates.scores > best)
    return candidates.with_contribution("cueLimit", (CUE_LEAD_SHARE - 1.0) * (candidates.scores[leads] - best), leads)


def _text_cues(
    query: AnalyzedQuery, candidates: Candidates, merits: NDArray[np.float64], limit: int
) -> dict[ScoreFactor, NDArray[np.float64]]:
    """The features that depend on the query's intent and the texts, of those texts that they can lift high enough."""
    compared = min(max(FEATURE_RANKS_PER_RESULT * limit, MIN_FEATURE_RANKS), len(candidates) - 1)
    least = kth_largest(candidates.scores, compared) if compared > 0 else -np.inf
    within_reach = np.flatnonzero(candidates.scores + query.intent.max_feature_score * merits >= least)
    cues: dict[ScoreFactor, NDArray[np.float64]] = {}
    for position in within_reach.tolist():
        for factor, amount in query.intent.feature_scores(candidates.text(position)):
            cues.setdefault(factor, np.zeros(len(candidates)))[position] = amount
    return cues


def _date_cue(
    query: AnalyzedQuery, candidates: Candidates, documents: DocumentStore
) -> dict[ScoreFactor, NDArray[np.float64]]:
    """The boost for documents of the time that the query names."""
    intent = query.intent
    if not intent.date_ranges:
        return {}
    ordinals, inverse = np.unique(candidates.document_ordinals, return_inverse=True)
    stored = [documents.get(ordinal) for ordinal in ordinals.tolist()]
    boosts = [0.0 if document is None else intent.date_boost(document.effective_date) for document in stored]
    return {"date": np.array(boosts)[inverse]}


def _merits(query: AnalyzedQuery, candidates: Candidates) -> NDArray[np.float64]:
    """The share of a cue that each candidate is given, by its similarity so far and its distance to the best."""
    calibration, scores = query.calibration, candidates.scores
    best = scores.max(where=candidates.is_eligible, initial=-np.inf)
    exponents = np.minimum((calibration.midpoint - scores) / calibration.width, 50.0)
    merits = np.minimum(1.0 / (1.0 + np.exp(exponents)) / FULL_CUE_SIMILARITY, 1.0)
    distances: NDArray[np.float64] = np.maximum(best - scores, 0.0)
    return merits * np.exp(-distances / CUE_DECAY_SCORE)


@dataclass(frozen=True, slots=True)
class MemoryChunkAlignment:
    """Positions of memories, and beside each the position of the chunk it was extracted from."""

    memory_positions: NDArray[np.intp]
    chunk_positions: NDArray[np.intp]


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
