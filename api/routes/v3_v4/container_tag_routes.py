"""Container tags of v3: the settings, deletion and merging of namespaces."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Path

from api.commands import namespace_settings
from api.dependencies.authentication import ForgetAccess, MoveKey, ReadAccess, ReadKey, WriteAccess
from api.errors.http_errors import BadRequestError, NotFoundError, NotImplementedHereError
from api.routes.contract_route import LenientRoute
from api.routes.v3_v4.container_tags import open_container
from pipeline.profile.bucket_classifier import effective_buckets
from pipeline.rows import NamespaceRow
from schemas.base import JsonObject, format_timestamp
from schemas.http.v3_v4 import container_tag_bodies as bodies

router = APIRouter(route_class=LenientRoute, prefix="/v3/container-tags", include_in_schema=False)

_MERGE_SEPARATOR = "."
"""Between the operations of a merge in its id."""


@router.post("/merge", status_code=202)
async def merge(caller: MoveKey, body: bodies.MergeBody) -> JsonObject:
    """Move the content of containers into another one, in the background."""
    sources = [tag for tag in dict.fromkeys(body.container_tags) if tag != body.target_container_tag]
    if not sources:
        raise BadRequestError("There is nothing to merge", "Name containers other than the target.")
    caller.add_audit_fields(namespaces=", ".join(sources), moveTo=body.target_container_tag)
    for tag in (*sources, body.target_container_tag):
        open_container(caller, tag)
    for tag in sources:
        caller.state.require_namespace(tag)
    operations = [
        await namespace_settings.request_move(caller.state, tag, body.target_container_tag) for tag in sources
    ]
    return {
        "success": True,
        "status": "queued",
        "mergeId": _MERGE_SEPARATOR.join(operations),
        "targetTag": body.target_container_tag,
        "sourceTags": sources,
    }


@router.get("/merge/{id}")
async def get_merge(caller: ReadKey, id: Annotated[str, Path(max_length=10_000)]) -> JsonObject:
    """Return the state of a merge."""
    rows = [await caller.state.operations.get(operation) for operation in id.split(_MERGE_SEPARATOR)]
    known = [row for row in rows if row is not None and caller.principal.may_read(row.source)]
    if not known or len(known) < len(rows):
        raise NotFoundError("Merge not found", f"There is no merge {id[:100]!r}.")
    states = {row.status for row in known}
    status = "failed" if "failed" in states else "queued" if "queued" in states else "done"
    return {"id": id, "status": status, "targetTag": known[0].target, "sourceTags": [row.source for row in known]}


@router.get("/{namespace}")
async def get(access: ReadAccess) -> JsonObject:
    """Return a container's settings."""
    row = access.state.require_namespace(access.namespace)
    return {
        "containerTag": row.name,
        "name": None,
        "entityContext": row.supporting_context,
        "memoryFilesystemPaths": None,
        "profileBuckets": listed_buckets(effective_buckets(row, access.state.catalog.organization())),
        "createdAt": format_timestamp(row.created_at),
        "updatedAt": format_timestamp(row.updated_at),
    }


@router.patch("/{namespace}")
async def update(access: WriteAccess, body: bodies.UpdateContainerTagBody) -> JsonObject:
    """Change a container's context or buckets; the buckets given replace those before."""
    if body.name is not None or body.memory_filesystem_paths is not None:
        raise NotImplementedHereError(
            "A container has no other name and no paths here", "Leave name and memoryFilesystemPaths out."
        )
    row = access.state.require_namespace(access.namespace)
    if body.entity_context is not None:
        row = await namespace_settings.set_supporting_context(
            access.state, access.namespace, body.entity_context or None
        )
    if body.profile_buckets is not None:
        await _replace_buckets(access, row, body.profile_buckets)
    return await get(access)


@router.delete("/{namespace}")
async def delete(access: ForgetAccess) -> JsonObject:
    """Delete a container with its documents and memories."""
    counts = await namespace_settings.delete_namespace(access.state, access.namespace)
    access.add_audit_fields(documents=counts.documents, memories=counts.memories)
    return {
        "success": True,
        "containerTag": access.namespace,
        "deletedDocumentsCount": counts.documents,
        "deletedMemoriesCount": counts.memories,
    }


async def _replace_buckets(access: WriteAccess, row: NamespaceRow, buckets: list[bodies.BucketDefinition]) -> None:
    wanted = {bucket.key: bucket.description for bucket in buckets}
    organization = access.state.catalog.organization().buckets
    own = {key: description for key, description in wanted.items() if organization.get(key) != description}
    if own:
        await namespace_settings.set_buckets(access.state, access.namespace, own)
    if removed := [key for key in row.buckets if key not in wanted]:
        await namespace_settings.delete_buckets(access.state, access.namespace, removed)


def listed_buckets(buckets: Mapping[str, str]) -> list[JsonObject]:
    return [{"key": key, "description": description} for key, description in buckets.items()]
