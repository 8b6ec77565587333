"""Commands on namespaces: each publishes the whole new state and takes effect before it returns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import uuid4

from api.dependencies.app_state import AppState
from api.errors.http_errors import BadRequestError, ConflictError
from pipeline.profile.bucket_classifier import effective_buckets
from pipeline.rows import NamespaceRow, OperationRow
from schemas.events import NamespaceChanged, OperationRequested, OrganizationChanged, SettingsChanged
from schemas.ids import incarnation_key
from schemas.limits import MAX_BUCKETS
from schemas.topics import OPERATIONS_REQUESTED


@dataclass(frozen=True, slots=True)
class RemovedCounts:
    documents: int
    memories: int


async def get_or_create_namespace(state: AppState, namespace_name: str) -> NamespaceRow:
    """Return the namespace, created if this is its first write."""
    row = state.catalog.namespace(namespace_name)
    if row is not None:
        return row
    async with state.settings_lock.acquire(f"namespace/{namespace_name}"):
        row = state.catalog.namespace(namespace_name)
        if row is not None:
            return row
        now = state.clock.now()
        epoch = state.catalog.epoch(namespace_name)
        row = NamespaceRow(
            name=namespace_name,
            epoch=epoch,
            incarnations=(incarnation_key(namespace_name, epoch),),
            created_at=now,
            updated_at=now,
        )
        await _publish_namespace(state, row)
        return row


async def set_supporting_context(state: AppState, namespace_name: str, supporting_context: str | None) -> NamespaceRow:
    async with state.settings_lock.acquire(f"namespace/{namespace_name}"):
        row = state.require_namespace(namespace_name)
        return await _change_namespace(state, row, supporting_context=supporting_context)


async def set_recall_log(state: AppState, namespace_name: str, *, enabled: bool) -> NamespaceRow:
    """Begin or end to record the reads of a namespace."""
    async with state.settings_lock.acquire(f"namespace/{namespace_name}"):
        return await _change_namespace(state, state.require_namespace(namespace_name), recall_log=enabled)


async def delete_namespace(state: AppState, namespace_name: str) -> RemovedCounts:
    """Delete the namespace at once; its rows are purged in the background."""
    async with state.settings_lock.acquire(f"namespace/{namespace_name}"):
        row = state.require_namespace(namespace_name)
        counts = count_contents(state, row)
        await _publish_namespace(
            state, NamespaceRow(row.name, row.epoch + 1, (), created_at=row.created_at, updated_at=state.clock.now())
        )
    await _request_operation(state, "purge", row, None)
    return counts


def count_contents(state: AppState, row: NamespaceRow) -> RemovedCounts:
    documents = state.documents.count_by_incarnation(row.incarnations)
    memories = state.memories.count_by_incarnation(row.incarnations)
    return RemovedCounts(sum(documents.values()), sum(memories.values()))


async def request_move(state: AppState, namespace_name: str, target: str) -> str:
    """Request a move of the content to another namespace; return the operation's id."""
    if target == namespace_name:
        raise BadRequestError("A namespace can't be moved to itself", f"moveTo: {target}")
    return await _request_operation(state, "move", state.require_namespace(namespace_name), target)


async def _request_operation(
    state: AppState, kind: Literal["move", "purge"], row: NamespaceRow, target: str | None
) -> str:
    now = state.clock.now()
    operation = OperationRow(
        id=f"op_{uuid4().hex}",
        kind=kind,
        source=row.name,
        target=target,
        status="queued",
        created_at=now,
        updated_at=now,
    )
    event = OperationRequested(
        id=operation.id, kind=operation.kind, source=row.name, incarnations=row.incarnations, target=target, at=now
    )
    await state.operations.record(operation)
    await state.publisher.publish(OPERATIONS_REQUESTED, [(row.name, event)])
    return operation.id


async def set_buckets(state: AppState, namespace_name: str, buckets: Mapping[str, str]) -> dict[str, str]:
    """Add or redefine buckets of a namespace; return the effective buckets."""
    async with state.settings_lock.acquire(f"namespace/{namespace_name}"):
        row = state.require_namespace(namespace_name)
        _reject_organization_buckets(state, buckets)
        merged = {**row.buckets, **buckets}
        if len(merged | state.catalog.organization().buckets) > MAX_BUCKETS:
            raise BadRequestError("Too many buckets", f"A namespace has at most {MAX_BUCKETS}.")
        row = await _change_namespace(state, row, buckets=merged)
    return effective_buckets(row, state.catalog.organization())


async def delete_buckets(state: AppState, namespace_name: str, buckets: list[str]) -> dict[str, str]:
    """Remove buckets of a namespace, ignoring unknown names; return the effective buckets."""
    async with state.settings_lock.acquire(f"namespace/{namespace_name}"):
        row = state.require_namespace(namespace_name)
        _reject_organization_buckets(state, dict.fromkeys(buckets, ""))
        kept = {bucket: description for bucket, description in row.buckets.items() if bucket not in buckets}
        if kept != row.buckets:
            row = await _change_namespace(state, row, buckets=kept)
    return effective_buckets(row, state.catalog.organization())


def _reject_organization_buckets(state: AppState, buckets: Mapping[str, str]) -> None:
    if owned := sorted(state.catalog.organization().buckets.keys() & buckets.keys()):
        raise ConflictError(
            "The bucket belongs to the organization",
            f"{', '.join(owned)}: an operator can change it with `recollect buckets`.",
        )


async def set_organizational_context(state: AppState, context: str | None) -> None:
    async with state.settings_lock.acquire("organization"):
        await _publish_organization(state, context, state.catalog.organization().buckets)


async def set_organization_buckets(state: AppState, buckets: Mapping[str, str]) -> dict[str, str]:
    """Add or redefine buckets of the organization; return all of them."""
    async with state.settings_lock.acquire("organization"):
        row = state.catalog.organization()
        merged = {**row.buckets, **buckets}
        if len(merged) > MAX_BUCKETS:
            raise BadRequestError("Too many buckets", f"The organization has at most {MAX_BUCKETS}.")
        await _publish_organization(state, row.context, merged)
    return merged


async def delete_organization_buckets(state: AppState, buckets: list[str]) -> dict[str, str]:
    """Remove buckets of the organization, ignoring unknown names; return the others."""
    async with state.settings_lock.acquire("organization"):
        row = state.catalog.organization()
        kept = {bucket: description for bucket, description in row.buckets.items() if bucket not in buckets}
        if kept != row.buckets:
            await _publish_organization(state, row.context, kept)
    return kept


async def _publish_organization(state: AppState, context: str | None, buckets: dict[str, str]) -> None:
    change = OrganizationChanged(context=context, buckets=buckets, updated_at=state.clock.now())
    await state.settings_lock.publish(state.publisher, [("organization", SettingsChanged(change=change))])


async def _change_namespace(state: AppState, row: NamespaceRow, **changes: Any) -> NamespaceRow:
    """Publish a namespace with some fields changed, and return it; the caller holds its lock."""
    changed = replace(row, **changes, updated_at=state.clock.now())
    await _publish_namespace(state, changed)
    return changed


async def _publish_namespace(state: AppState, row: NamespaceRow) -> None:
    event = SettingsChanged(change=NamespaceChanged.of(row))
    await state.settings_lock.publish(state.publisher, [(f"namespace/{row.name}", event)])
