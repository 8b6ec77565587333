"""Reasons why a document is not among the results of a search: its state, the filter, its score, its rank."""

from collections.abc import Sequence
from datetime import datetime

from pipeline.index.ranking.search_request_and_hits import Hit
from pipeline.rows import DocumentRow
from schemas.base import format_timestamp
from schemas.filters import Conjunction, FilterExpression, matches
from schemas.http.extensions.explain_bodies import ExplainMissingBody, MissingCause, MissingReason

MAX_RANKED = 5_000
"""Passages and memories among which a document's rank is looked for."""


def widened(body: ExplainMissingBody, *, drops_filter: bool) -> ExplainMissingBody:
    """Return the search without threshold, limit and reranking, and without a filter that leaves the document out."""
    update: dict[str, object] = {"threshold": 0.0, "limit": MAX_RANKED, "rerank": "none"}
    return body.model_copy(update=update | ({"filter": None} if drops_filter else {}))


def state_causes(
    row: DocumentRow | None, body: ExplainMissingBody, as_of: datetime | None = None
) -> list[MissingCause]:
    """Return causes in the document itself: it is absent, not ready, or does not match the filter.

    `as_of`: the past moment that is asked about; of its state then, only when it was added is known.
    """
    if row is None:
        return [_cause("unknown", "There is no such document: it was deleted, or never added to this namespace.")]
    causes: list[MissingCause] = []
    if as_of is not None:
        if row.created_at > as_of:
            told = f"It was not there then: it was added at {format_timestamp(row.created_at)}."
            return [_cause("unknown", told)]
    elif row.status == "failed":
        causes.append(_cause("failed", f"It could not be processed: {row.error or 'no reason is known'}."))
    elif row.status != "done":
        causes.append(_cause("processing", f"It is still being processed (status {row.status})."))
    failing = [_describe(part) for part in _parts(body.filter) if not matches(part, row.metadata)]
    if failing:
        causes.append(_cause("filter", f"Its metadata does not match the filter: {'; '.join(failing)}."))
    return causes


def score_causes(
    body: ExplainMissingBody, best: Hit | None, rank: int | None, is_kind_asked_for: bool
) -> list[MissingCause]:
    """Return causes in the ranking. `best`: the document's best hit; `rank`: from 0, None beyond MAX_RANKED."""
    if best is None:
        return [_cause("notSimilar", "None of its passages and memories has a word or a meaning in common with it.")]
    if not is_kind_asked_for:
        return [_cause("mode", f"Only a {best.kind} of it matches, and the search asks for {body.search_mode}.")]
    causes: list[MissingCause] = []
    if best.similarity < body.threshold:
        told = f"Its best similarity is {best.similarity:.2f}, below the minimum of {body.threshold:g}."
        causes.append(_cause("threshold", told))
    if rank is None:
        told = f"More than {MAX_RANKED:,} passages and memories rank before it, and the search returns {body.limit}."
        causes.append(_cause("limit", told))
    elif rank >= body.limit:
        causes.append(_cause("limit", f"It is at place {rank + 1:,}, and the search returns {body.limit}."))
    if not causes and body.rerank != "none":
        causes.append(_cause("reranked", "Without reranking it would be among the results."))
    return causes


def found_cause() -> MissingCause:
    """Return the answer for a document that is among the results."""
    return _cause("found", "It is among the results.")


def _parts(expression: FilterExpression | None) -> Sequence[FilterExpression]:
    """Split a filter into the conditions that must all hold."""
    if expression is None:
        return ()
    return expression.operands if isinstance(expression, Conjunction) else (expression,)


def _describe(expression: FilterExpression) -> str:
    return expression.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True)[:200]


def _cause(reason: MissingReason, description: str) -> MissingCause:
    return MissingCause(reason=reason, description=description)
