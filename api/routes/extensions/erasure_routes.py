"""Erasure on request: what would be deleted, its deletion, and the erasure of everything deleted (extension)."""

from collections.abc import Sequence
from dataclasses import asdict

from fastapi import APIRouter

from api.commands.document_submission import delete_documents
from api.commands.namespace_settings import count_contents, delete_namespace
from api.dependencies.app_state import AppState
from api.dependencies.authentication import ForgettingOperatorKey
from api.dependencies.service_interfaces import ErasureService
from api.errors.http_errors import ConflictError, NotFoundError
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.erasure.erasure_report import ErasedCounts, ErasureReport, ErasureScope, ErasureUnsupportedError
from pipeline.memory.versioning.comparison_keys import premise_key
from pipeline.memory.versioning.truth_maintenance import premises
from pipeline.rows import MemoryRow
from pipeline.store.generations.replay_request import ReplayError
from schemas.base import format_timestamp
from schemas.http.extensions.erasure_bodies import ErasureBody, ErasureResponse, GoingMemory

router = APIRouter(route_class=ContractRoute, prefix="/admin", tags=["Administration"])

MAX_NAMED_MEMORIES = 100
"""Memories that a dry run names; all are counted."""


@router.post("/erasures", responses=error_responses(400, 401, 403, 404, 409, 500, 503))
async def erase(caller: ForgettingOperatorKey, body: ErasureBody) -> ErasureResponse:
    """Delete documents or a namespace, and erase everything deleted from log, blobs and table files."""
    scope = await _find_scope(caller.state, body.namespace, body.documents)
    caller.add_audit_fields(namespace=body.namespace or "", documentIds=", ".join(body.documents or ()))
    if body.dry_run:
        caller.add_audit_fields(dryRun=True)
        plan = await _plan_erasure(caller.state, scope)
        may_read = "read" in caller.principal.granted
        return _erasure_response(scope, plan, caller.principal.id, names_memories=may_read)
    report = await _erase(caller.state, scope)
    response = _erasure_response(scope, report.counts, caller.principal.id, report)
    caller.add_audit_fields(
        **response.model_dump(mode="json", by_alias=True, exclude={"namespace", "erased_by", "going_memories"})
    )
    return response


async def _find_scope(state: AppState, namespace_name: str | None, ids: Sequence[str] | None) -> ErasureScope:
    """Find the rows to delete: none without a namespace; NotFoundError names missing documents."""
    if namespace_name is None:
        return ErasureScope()
    namespace = state.require_namespace(namespace_name)
    if ids is None:
        counts = count_contents(state, namespace)
        chunks = sum(state.chunks.count_by_incarnation(namespace.incarnations).values())
        return ErasureScope(namespace, None, counts.documents, chunks, counts.memories)
    found = await state.documents.find_by_public_id(namespace.incarnations, ids)
    if unknown := [document_id for document_id in ids if document_id not in found]:
        raise NotFoundError("There are no such documents", f"{namespace_name}: {', '.join(unknown)[:500]}")
    rows = list(found.values())
    keys = {row.key for row in rows}
    memories = await state.memories.find_by_documents(keys)
    going = [memory for memory in memories if keys.issuperset(memory.sources)]
    derived = await _conclusions(state, namespace.incarnations, going)
    chunks = sum(len(members) for members in (await state.chunks.get(keys)).values())
    return ErasureScope(
        namespace,
        rows,
        document_count=len(rows),
        chunks=chunks,
        memories=len(going) + len(derived),
        shared_memories=len(memories) - len(going),
        derived_memories=len(derived),
        going_memories=[*going, *derived],
    )


async def _conclusions(state: AppState, incarnations: Sequence[str], going: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Return the memories that follow from others that go, and go with them though another document brought them."""
    gone, found = {memory.id for memory in going}, list[MemoryRow]()
    new = set(gone)
    while new:
        rows = await state.memories.find_by_keys(incarnations, [*map(premise_key, sorted(new))])
        more = {row.id: row for row in rows if row.id not in gone and new.intersection(premises(row))}
        found += more.values()
        new = set(more)
        gone |= new
    return found


async def _plan_erasure(state: AppState, scope: ErasureScope) -> ErasedCounts:
    """Count the events and blobs that would go with these rows."""
    if scope.documents is None:
        incarnations = () if scope.namespace is None else scope.namespace.incarnations
        return await _service(state).plan((), incarnations)
    return await _service(state).plan([(row.incarnation, row.key) for row in scope.documents], ())


async def _erase(state: AppState, scope: ErasureScope) -> ErasureReport:
    async def delete() -> None:
        if scope.namespace is not None and scope.documents is None:
            await delete_namespace(state, scope.namespace.name)
        elif scope.namespace is not None:
            await delete_documents(state, scope.namespace.name, [row.id for row in scope.documents or ()])

    try:
        return await _service(state).erase_now(delete)
    except ReplayError as error:
        raise ConflictError("Deleted, and not erased yet", str(error)) from error


def _service(state: AppState) -> ErasureService:
    try:
        state.erasures.require_support()
    except ErasureUnsupportedError as error:
        raise ConflictError("Erasure is not supported here", str(error)) from error
    return state.erasures


def _erasure_response(
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
    return ErasureResponse.of(
        scope,
        namespace=None if scope.namespace is None else scope.namespace.name,
        documents=scope.document_count,
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
