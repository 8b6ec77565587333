"""Reports of erasures as response bodies."""

from pipeline.erasure.erasure_report import ErasedCounts, ErasureReport, ErasureScope
from schemas.base import format_timestamp
from schemas.http.extensions.erasure_bodies import ErasureResponse


def erasure_response(scope: ErasureScope, report: ErasureReport, key: str) -> ErasureResponse:
    return _response(scope, report.counts, key).model_copy(
        update={
            "moved_rows": report.moved_rows,
            "removed_generations": list(report.removed_generations),
            "cleared_vectors": report.cleared_vectors,
            "digest": report.positions_digest,
            "started_at": format_timestamp(report.started_at),
            "ended_at": format_timestamp(report.ended_at),
        }
    )


def planned_erasure_response(scope: ErasureScope, counts: ErasedCounts, key: str) -> ErasureResponse:
    return _response(scope, counts, key)


def _response(scope: ErasureScope, counts: ErasedCounts, key: str) -> ErasureResponse:
    return ErasureResponse(
        namespace=None if scope.namespace is None else scope.namespace.name,
        documents=scope.document_count,
        chunks=scope.chunks,
        memories=scope.memories,
        shared_memories=scope.shared_memories,
        events=dict(counts.events),
        blobs=counts.blobs,
        keys=counts.keys,
        waiting_events=counts.waiting_events,
        waiting_blobs=counts.waiting_blobs,
        retained_events=counts.retained_events,
        moved_rows=0,
        removed_generations=[],
        cleared_vectors=False,
        digest=None,
        started_at=None,
        ended_at=None,
        erased_by=key,
    )
