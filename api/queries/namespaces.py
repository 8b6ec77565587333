"""Changes of namespaces: each is one event with the whole new state, in effect when the call returns."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal
from uuid import uuid4

from api.keys import Principal
from api.problems import BadRequestError, ConflictError, NotFoundError
from api.state import State
from pipeline.profile.buckets import effective
from pipeline.rows import NamespaceRow, OperationRow, OrganizationRow
from schemas.events import NamespaceChanged, OperationRequested, OrganizationChanged, SettingsChanged
from schemas.ids import space
from schemas.limits import BUCKETS
from schemas.topics import OPERATIONS_REQUESTED, SETTINGS_CHANGED


@dataclass(frozen=True, slots=True)
class Removed:
    """How much went with a namespace."""

    documents: int
    memories: int


def existing(state: State, name: str) -> NamespaceRow:
    """The namespace, or NotFoundError."""
    row = state.catalog.namespace(name)
    if row is None:
        raise NotFoundError(
            "Namespace not found", f"{name} has no content: it begins with its first document."
        )
    return row


def readable(state: State, principal: Principal) -> list[NamespaceRow]:
    """What a key may read, newest first: the one rule for lists and for counts."""
    rows = [row for row in state.catalog.namespaces() if principal.may_read(row.name)]
    return sorted(rows, key=lambda row: (row.created_at, row.name), reverse=True)


async def opened(state: State, name: str) -> NamespaceRow:
    """The namespace; it begins now if this is its first write."""
    row = state.catalog.namespace(name)
    if row is not None:
        return row
    async with state.changes.turn():
        row = state.catalog.namespace(name)
        if row is not None:
            return row
        now = state.clock.now()
        generation = state.catalog.generation(name)
        row = NamespaceRow(
            name=name,
            generation=generation,
            spaces=(space(name, generation),),
            created_at=now,
            updated_at=now,
        )
        await _save(state, row)
        return row


async def described(state: State, name: str, supporting_context: str | None) -> NamespaceRow:
    """Set or clear the supporting context."""
    async with state.changes.turn():
        row = replace(
            existing(state, name), supporting_context=supporting_context, updated_at=state.clock.now()
        )
        await _save(state, row)
        return row


async def deleted(state: State, name: str) -> Removed:
    """Drop the namespace: nothing of it is found any more; its rows are purged in the background."""
    async with state.changes.turn():
        row = existing(state, name)
        counts = removed(state, row)
        gone = replace(
            row,
            generation=row.generation + 1,
            spaces=(),
            supporting_context=None,
            description=None,
            buckets={},
            updated_at=state.clock.now(),
        )
        await _save(state, gone)
    await _request(state, "purge", row, None)
    return counts


def removed(state: State, row: NamespaceRow) -> Removed:
    """How much there is in a namespace now."""
    documents = state.documents.count(row.spaces)
    memories = state.memories.count(row.spaces)
    return Removed(sum(documents.values()), sum(memories.values()))


async def moved(state: State, name: str, target: str) -> str:
    """Ask for a move; the id of the operation."""
    if target == name:
        raise BadRequestError("A namespace can't be moved to itself", f"moveTo: {target}")
    return await _request(state, "move", existing(state, name), target)


async def _request(
    state: State, kind: Literal["move", "purge"], row: NamespaceRow, target: str | None
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
        id=operation.id, kind=operation.kind, source=row.name, spaces=row.spaces, target=target, at=now
    )
    await state.operations.record(operation)
    await state.publisher.publish(OPERATIONS_REQUESTED, [(row.name, event)])
    return operation.id


def effective_buckets(row: NamespaceRow | None, organization: OrganizationRow) -> dict[str, str]:
    """The buckets of a namespace: the organization's definition wins, and where nobody defined any there are
    the default ones. None: there is no such namespace.
    """
    return {} if row is None else effective(row, organization)


async def set_buckets(state: State, name: str, buckets: Mapping[str, str]) -> dict[str, str]:
    """Add or redefine buckets of a namespace."""
    async with state.changes.turn():
        row = existing(state, name)
        _refuse_owned(state, buckets)
        merged = {**row.buckets, **buckets}
        if len(merged | state.catalog.organization().buckets) > BUCKETS:
            raise BadRequestError("Too many buckets", f"A namespace has at most {BUCKETS}.")
        row = replace(row, buckets=merged, updated_at=state.clock.now())
        await _save(state, row)
    return effective_buckets(row, state.catalog.organization())


async def delete_buckets(state: State, name: str, buckets: list[str]) -> dict[str, str]:
    """Remove buckets of a namespace; unknown ones are ignored."""
    async with state.changes.turn():
        row = existing(state, name)
        _refuse_owned(state, dict.fromkeys(buckets, ""))
        kept = {bucket: text for bucket, text in row.buckets.items() if bucket not in buckets}
        if kept != row.buckets:
            row = replace(row, buckets=kept, updated_at=state.clock.now())
            await _save(state, row)
    return effective_buckets(row, state.catalog.organization())


def _refuse_owned(state: State, buckets: Mapping[str, str]) -> None:
    if owned := sorted(state.catalog.organization().buckets.keys() & buckets.keys()):
        raise ConflictError(
            "The organization owns this bucket",
            f"{', '.join(owned)}: an operator changes it with `recollect buckets`.",
        )


async def set_context(state: State, context: str | None) -> None:
    """Set or clear the organizational context."""
    async with state.changes.turn():
        change = OrganizationChanged(
            context=context, buckets=state.catalog.organization().buckets, updated_at=state.clock.now()
        )
        await _publish(state, "organization", SettingsChanged(change=change))


async def _save(state: State, row: NamespaceRow) -> None:
    change = NamespaceChanged(**{field.name: getattr(row, field.name) for field in fields(row)})
    await _publish(state, f"namespace/{row.name}", SettingsChanged(change=change))


async def _publish(state: State, key: str, event: SettingsChanged) -> None:
    await state.publisher.publish(SETTINGS_CHANGED, [(key, event)])
    state.catalog.apply(event)
