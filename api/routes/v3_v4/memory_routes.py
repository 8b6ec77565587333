"""Memories of v4: store as they are, replace, forget and list."""

from collections.abc import Mapping, Sequence

from fastapi import APIRouter

from api.commands import memory_forgetting, memory_storage
from api.commands.memory_storage import StatedMemory, StoredMemory
from api.dependencies.app_state import AppState
from api.dependencies.authentication import ForgetAndReadKey, ForgetKey, NamespaceAccess, ReadKey, WriteKey
from api.errors.http_errors import BadRequestError, NotFoundError, NotImplementedHereError
from api.routes.contract_route import LenientRoute
from api.routes.v3_v4.container_tags import ORGANIZATION_ID, open_for_change, readable_incarnations
from api.routes.v3_v4.document_ids import encode_document_id
from api.routes.v3_v4.metadata_filters import parse_filters
from pipeline.rows import DocumentRow, MemoryRow
from schemas.base import JsonObject, format_optional_timestamp, format_timestamp
from schemas.http.pagination import paginate
from schemas.http.v3_v4 import memory_bodies as bodies
from schemas.http.v3_v4.document_bodies import ListBody
from schemas.http.v5.search_bodies import SearchBody
from schemas.ids import memory_id, namespace_id
from schemas.limits import MAX_SEARCH_RESULTS

router = APIRouter(route_class=LenientRoute, prefix="/v4/memories", include_in_schema=False)


@router.post("", status_code=201)
async def create(caller: WriteKey, body: bodies.CreateMemoriesBody) -> JsonObject:
    """Store memories as they are, without extraction."""
    for memory in body.memories:
        _require_no_expiry(memory)
    access = open_for_change(caller, [body.container_tag])
    size = sum(len(memory.content.encode(errors="replace")) for memory in body.memories)
    access.require_document_quota(1, size)
    stored = await memory_storage.store_memories(
        access.state,
        access.namespace,
        [_stated(memory, memory.content, is_static=memory.is_static) for memory in body.memories],
    )
    documents = {memory.document for memory in stored}
    access.count_usage(documents=len(documents), size=size)
    return {
        "documentId": encode_document_id(documents.pop()) if len(documents) == 1 else None,
        "memories": [{**_stored_memory(memory), "isStatic": memory.is_static} for memory in stored],
    }


@router.patch("")
async def update(caller: WriteKey, body: bodies.UpdateMemoryBody) -> JsonObject:
    """Replace a memory by a new version; the earlier one stays in its history."""
    _require_no_expiry(body)
    access = open_for_change(caller, [body.container_tag])
    before = await _require_memory(access, body)
    stated = _stated(body, body.new_content, is_static=before.is_static, replaces=before.id)
    (stored,) = await memory_storage.store_memories(access.state, access.namespace, [stated])
    chain = [before, *_earlier_versions(before, await _read_history(access.state, [before]))]
    return {
        **_stored_memory(stored),
        "version": before.version + 1,
        "parentMemoryId": before.id,
        "rootMemoryId": chain[-1].id,
    }


@router.delete("")
async def forget(caller: ForgetKey, body: bodies.ForgetMemoryBody) -> JsonObject:
    """Forget a memory: it is hidden from recall, its history is kept."""
    access = open_for_change(caller, [body.container_tag])
    row = await _require_memory(access, body)
    await memory_forgetting.forget_by_ids(access.state, access.namespace, [row.id], body.reason)
    return {"id": row.id, "forgotten": True}


@router.post("/forget-matching")
async def forget_matching(caller: ForgetAndReadKey, body: bodies.ForgetMatchingBody) -> JsonObject:
    """Forget the memories that match a description, or preview them."""
    access = open_for_change(caller, [body.container_tag])
    matches = await _matching_memories(access, body)
    if not body.dry_run and matches:
        ids = [match["id"] for match in matches]
        await memory_forgetting.forget_by_ids(access.state, access.namespace, ids, body.reason)
    verb = "would be forgotten" if body.dry_run else "forgotten"
    return {
        "dryRun": body.dry_run,
        "count": len(matches),
        "forgetBatchId": None,
        "summary": f"{len(matches)} memories {verb}: {body.query[:200]}",
        "candidates" if body.dry_run else "forgotten": matches,
    }


@router.post("/list")
async def list_memories(caller: ReadKey, body: ListBody) -> JsonObject:
    """List a page of current memories, each with its earlier versions."""
    state = caller.state
    incarnations = readable_incarnations(caller, body.tags)
    selected = parse_filters(body.filters)
    if not incarnations:
        return {"memoryEntries": [], "pagination": paginate(body.page, body.limit, 0)}
    page = await state.memories.page(
        incarnations,
        documents=None if selected is None else await state.documents.matching_keys(incarnations, selected),
        sort=body.sort,
        descending=body.order == "desc",
        offset=(body.page - 1) * body.limit,
        limit=body.limit,
    )
    history = await _read_history(state, page.rows)
    sources = await state.documents_by_key({key for row in page.rows for key in row.sources})
    entries = [_memory_entry(state, row, history, sources) for row in page.rows]
    return {"memoryEntries": entries, "pagination": paginate(body.page, body.limit, page.total)}


def _stated(fields: bodies.MemoryFields, text: str, *, is_static: bool, replaces: str | None = None) -> StatedMemory:
    context = fields.temporal_context
    return StatedMemory(
        text=text,
        is_static=is_static,
        metadata=fields.metadata,
        date=context.document_date,
        event_dates=tuple(context.event_date or ()),
        replaces=replaces,
    )


def _require_no_expiry(memory: bodies.MemoryFields) -> None:
    if memory.forget_after is not None or memory.forget_reason is not None:
        raise NotImplementedHereError(
            "A memory can't be given an expiry here",
            "Leave forgetAfter and forgetReason out, and forget the memory when it is due.",
        )


async def _require_memory(access: NamespaceAccess, body: bodies.MemoryReference) -> MemoryRow:
    """Return the memory with this id or this exact text; NotFoundError if there is none to recall."""
    if not body.id and not body.content:
        raise BadRequestError("No memory is named", "Send its id, or its exact text as content.")
    incarnations = access.state.incarnations_of(access.namespace)
    ids = [body.id] if body.id else [memory_id(incarnation, body.content or "") for incarnation in incarnations]
    for row in (await access.state.find_memories(access.namespace, ids)).values():
        if row.forgotten_at is None:
            return row
    raise NotFoundError("Memory not found", f"There is no such memory in {access.namespace}.")


async def _matching_memories(access: NamespaceAccess, body: bodies.ForgetMatchingBody) -> list[JsonObject]:
    """Return what a semantic delete would forget, as far as it is similar enough, best first."""
    namespace = access.state.catalog.namespace(access.namespace)
    if namespace is None:
        return []
    rows = await access.state.queries.find_semantic_matches(namespace, body.query)
    query = SearchBody.model_construct(
        query=body.query, search_mode="memories", threshold=body.threshold, limit=MAX_SEARCH_RESULTS
    )
    scores = {result.id: result.similarity for result in (await access.state.queries.search(namespace, query)).results}
    matches = [{"id": row.id, "memory": row.text, "score": scores[row.id]} for row in rows if row.id in scores]
    return matches[: body.max_forget]


async def _read_history(state: AppState, rows: Sequence[MemoryRow]) -> dict[str, MemoryRow]:
    """Read the memories that these replace, and those that these replace in turn."""
    found: dict[str, MemoryRow] = {}
    wanted = {target for row in rows if (target := _parent_id(row)) is not None}
    while wanted:
        read = await state.memories_by_id(wanted)
        found |= read
        wanted = {target for row in read.values() if (target := _parent_id(row)) is not None} - found.keys()
    return found


def _stored_memory(stored: StoredMemory) -> JsonObject:
    return {
        "id": stored.id,
        "memory": stored.text,
        "createdAt": format_timestamp(stored.at),
        "forgetAfter": None,
        "forgetReason": None,
        "metadata": stored.metadata,
    }


def _memory_entry(
    state: AppState, row: MemoryRow, history: Mapping[str, MemoryRow], sources: Mapping[str, DocumentRow]
) -> JsonObject:
    """Present a memory with its earlier versions, the newest first."""
    namespace = state.catalog.namespace_of(row.incarnation)
    present = [key for key in row.sources if key in sources]
    chain = _earlier_versions(row, history)
    return {
        **_version(row, chain[-1] if chain else row),
        "isStatic": row.is_static,
        "isInference": row.is_inference,
        "spaceId": namespace_id(namespace.name, namespace.epoch) if namespace else row.incarnation,
        "orgId": ORGANIZATION_ID,
        "sourceCount": len(present),
        "forgetAfter": format_optional_timestamp(row.expires_at),
        "forgetReason": row.forget_reason,
        "metadata": sources[present[0]].metadata if present else None,
        "memoryRelations": {relation.target: relation.kind for relation in row.relations},
        "temporalContext": {"documentDate": row.date} if row.date else None,
        "history": [_version(earlier, chain[-1]) for earlier in chain],
        "documentIds": [encode_document_id(key) for key in present],
    }


def _earlier_versions(row: MemoryRow, history: Mapping[str, MemoryRow]) -> list[MemoryRow]:
    """Return the earlier versions of a memory, the newest first."""
    chain: list[MemoryRow] = []
    seen = {row.id}
    while (target := _parent_id(row)) is not None and target in history and target not in seen:
        row = history[target]
        seen.add(target)
        chain.append(row)
    return chain


def _parent_id(row: MemoryRow) -> str | None:
    return next((relation.target for relation in row.relations if relation.kind == "updates"), None)


def _version(row: MemoryRow, root: MemoryRow) -> JsonObject:
    return {
        "id": row.id,
        "memory": row.text,
        "version": row.version,
        "createdAt": format_timestamp(row.created_at),
        "updatedAt": format_timestamp(row.updated_at),
        "parentMemoryId": _parent_id(row),
        "rootMemoryId": None if root.id == row.id else root.id,
        "isLatest": row.is_latest,
        "isForgotten": row.forgotten_at is not None,
    }
