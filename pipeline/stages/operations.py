"""operations.requested: hand a namespace's content to another name, or erase what nobody owns any more."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from pipeline.changes import Turn
from pipeline.ports import Catalog, Clock, Documents, Erasable, Operations, Publisher
from pipeline.projection import submitted
from pipeline.rows import DocumentRow, NamespaceRow, OperationRow
from pipeline.stage import Record, Stage
from schemas.events import DocumentSubmitted, NamespaceChanged, OperationRequested, SettingsChanged
from schemas.ids import space
from schemas.limits import DOCUMENT_ID_LENGTH
from schemas.topics import DOCUMENTS_SUBMITTED, OPERATIONS_REQUESTED, SETTINGS_CHANGED


@dataclass(frozen=True, slots=True)
class Operate:
    """The stage's work as functions of its ports."""

    documents: Documents
    catalog: Catalog
    operations: Operations
    publisher: Publisher
    clock: Clock
    store: Erasable
    turn: Turn

    async def handle(self, batch: Sequence[Record[OperationRequested]]) -> None:
        """One after the other; each may be done again from the start."""
        for record in batch:
            event = record.event
            error = await self._done(event)
            await self.operations.record(_finished(event, error, self.clock))

    async def give_up(self, record: Record[OperationRequested], reason: str) -> None:
        """The operation failed, and says why."""
        await self.operations.record(_finished(record.event, reason, self.clock))

    async def _done(self, event: OperationRequested) -> str | None:
        if event.kind == "move":
            return await self._move(event)
        await self._purge(event.spaces)
        return None

    async def _purge(self, spaces: Collection[str]) -> None:
        """Spaces that somebody owns stay: they were handed on meanwhile."""
        unowned = frozenset(one for one in spaces if self.catalog.owner(one) is None)
        if unowned:
            await self.store.remove_spaces(unowned)

    async def _move(self, event: OperationRequested) -> str | None:
        """None, or why there was nothing to move."""
        if event.target is None or event.target == event.source:
            return "A move needs a target of another name."
        leaving = self._spaces(event.source) & frozenset(event.spaces)
        if not leaving:
            moved = frozenset(event.spaces) <= self._spaces(event.target)
            return None if moved else f"{event.source} has no content any more."
        spaces = tuple(one for one in event.spaces if one in leaving)
        async with self.turn():
            await self._open(event.target)
        await self._rename(spaces, event.target, event.source)
        async with self.turn():
            await self._hand_over(event.source, event.target, spaces)
        return None

    def _spaces(self, name: str) -> frozenset[str]:
        row = self.catalog.namespace(name)
        return frozenset(row.spaces) if row is not None else frozenset()

    async def _open(self, name: str) -> NamespaceRow:
        row = self.catalog.namespace(name)
        if row is None:
            generation = self.catalog.generation(name)
            now = self.clock.now()
            row = NamespaceRow(name, generation, (space(name, generation),), created_at=now, updated_at=now)
            await self._save([row])
        return row

    async def _hand_over(self, source: str, target: str, spaces: Sequence[str]) -> None:
        """Both changes in one publication, so that a space is never long without an owner or with two."""
        now = self.clock.now()
        gaining = await self._open(target)
        gained = tuple(dict.fromkeys((*gaining.spaces, *spaces)))
        changed = [replace(gaining, spaces=gained, updated_at=now)]
        leaving = self.catalog.namespace(source)
        if leaving is not None:
            left = tuple(one for one in leaving.spaces if one not in spaces)
            changed.append(replace(leaving, spaces=left, updated_at=now) if left else _ended(leaving, now))
        await self._save(changed)

    async def _save(self, rows: Sequence[NamespaceRow]) -> None:
        events = [
            (f"namespace/{row.name}", SettingsChanged(change=NamespaceChanged.model_validate(asdict(row))))
            for row in rows
        ]
        await self.publisher.publish(SETTINGS_CHANGED, events)
        for _, event in events:
            self.catalog.apply(event)
        await self.catalog.durable()

    async def _rename(self, moved: Sequence[str], target: str, source: str) -> None:
        """Documents whose id the target has already take the source's name along, by way of the log."""
        arriving = await self.documents.columns(moved)
        present = set((await self.documents.columns(sorted(self._spaces(target) - set(moved)))).ids)
        names = renamed(list(arriving.ids), present, source)
        keys = {key: names[one] for key, one in zip(arriving.keys, arriving.ids, strict=True) if one in names}
        found = await self.documents.get(keys)
        rows = [row for rows in found.values() for row in rows]
        entries = [(f"{row.space}/{row.key}", _renaming(row, keys[row.key], self.clock)) for row in rows]
        if not entries:
            return
        positions = await self.publisher.publish(DOCUMENTS_SUBMITTED, entries)
        applied = {
            event.document: (event, position.offset)
            for (_, event), position in zip(entries, positions, strict=True)
        }

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            after = submitted(rows[0], *applied[key]) if rows else None
            return [after] if after is not None else None

        await self.documents.update(list(applied), change)


def renamed(arriving: Sequence[str], present: Collection[str], source: str) -> dict[str, str]:
    """New ids for those that are taken: `<id>~<source>`, with a number where that is taken too.

    >>> renamed(["a", "b"], {"a"}, "old")
    {'a': 'a~old'}
    """
    taken = {*present, *arriving}
    names: dict[str, str] = {}
    for one in arriving:
        if one in present:
            names[one] = _free(one, source, taken)
            taken.add(names[one])
    return names


def _free(one: str, source: str, taken: Collection[str]) -> str:
    number = 1
    while True:
        ending = f"~{source}" if number == 1 else f"~{source}~{number}"
        name = one[: DOCUMENT_ID_LENGTH - len(ending)] + ending
        if name not in taken:
            return name
        number += 1


def _renaming(row: DocumentRow, name: str, clock: Clock) -> DocumentSubmitted:
    return DocumentSubmitted(operation="patch", space=row.space, document=row.key, id=name, at=clock.now())


def _ended(row: NamespaceRow, now: datetime) -> NamespaceRow:
    """The name is free for another life; nothing of this one stays with it."""
    return NamespaceRow(row.name, row.generation + 1, (), created_at=row.created_at, updated_at=now)


def _finished(event: OperationRequested, error: str | None, clock: Clock) -> OperationRow:
    return OperationRow(
        id=event.id,
        kind=event.kind,
        source=event.source,
        target=event.target,
        status="done" if error is None else "failed",
        created_at=event.at,
        updated_at=clock.now(),
        error=error,
    )


def build(
    *,
    documents: Documents,
    catalog: Catalog,
    operations: Operations,
    publisher: Publisher,
    clock: Clock,
    store: Erasable,
    turn: Turn,
) -> Stage[OperationRequested]:
    """The stage `operations`. `turn` is held by whoever reads settings to change them."""
    work = Operate(documents, catalog, operations, publisher, clock, store, turn)
    return Stage(
        name="operations", source=OPERATIONS_REQUESTED, handle=work.handle, batch=1, give_up=work.give_up
    )
