"""Reports of erasures as response bodies."""

from dataclasses import asdict

from pipeline.erasure.erasure_report import ErasedCounts, ErasureReport, ErasureScope
from schemas.base import format_timestamp
from schemas.http.extensions.erasure_bodies import ErasureResponse, GoingMemory

MAX_NAMED_MEMORIES = 100
"""Memories that a dry run names; all are counted."""


def erasure_response(
    scope: ErasureScope,
    counts: ErasedCounts,
    key: str,
    report: ErasureReport | None = None,
    *,
    names_memories: bool = False,
) -> ErasureResponse:
    """Present what was erased; without a report, what a dry run counted."""
    named = scope.going_memories[:MAX_NAMED_MEMORIES] if names_memories else ()
    stated = len(scope.going_memories) - scope.derived_memories
    return ErasureResponse(
        namespace=None if scope.namespace is None else scope.namespace.name,
        documents=scope.document_count,
        chunks=scope.chunks,
        memories=scope.memories,
        shared_memories=scope.shared_memories,
        derived_memories=scope.derived_memories,
        going_memories=[
            GoingMemory(id=memory.id, memory=memory.text, is_derived=at >= stated) for at, memory in enumerate(named)
        ],
        **asdict(counts),
        moved_rows=report.moved_rows if report else 0,
        removed_generations=list(report.removed_generations) if report else [],
        cleared_vectors=report is not None and report.cleared_vectors,
        digest=report.positions_digest if report else None,
        started_at=format_timestamp(report.started_at) if report else None,
        ended_at=format_timestamp(report.ended_at) if report else None,
        erased_by=key,
    )
