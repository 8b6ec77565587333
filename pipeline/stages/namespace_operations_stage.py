"""operations.requested: move a namespace's content to another name, or erase unowned incarnations."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import groupby

from pipeline.errors import OutageError
from pipeline.ports import Catalog, Clock, DocumentTable, IncarnationEraser, OperationTable, Publisher, Submissions
from pipeline.rows import DocumentRow, NamespaceRow, OperationRow
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.stage import Record, Stage
from schemas.events import DocumentSubmitted, NamespaceChanged, OperationRequested, SettingsChanged
from schemas.ids import incarnation_key
from schemas.limits import MAX_DOCUMENT_ID_LENGTH
from schemas.topics import DOCUMENTS_SUBMITTED, OPERATIONS_REQUESTED

MAX_OPERATIONS_PER_BATCH = 256
"""Namespaces that one purge erases: each purge writes new versions, thus files, of every table."""


@dataclass(frozen=True, slots=True)
class NamespaceOperationsStage:
    """Executes operations; locks of namespaces are held while their settings are read and changed."""

    documents: DocumentTable
    catalog: Catalog
    operations: OperationTable
    publisher: Publisher
    clock: Clock
    eraser: IncarnationEraser
    settings_lock: SettingsLock
    submissions: Submissions

    @property
    def definition(self) -> Stage[OperationRequested]:
        return Stage(
            name="operations",
            source=OPERATIONS_REQUESTED,
            handle=self.handle,
            batch_size=MAX_OPERATIONS_PER_BATCH,
            on_dead_letter=self.on_dead_letter,
        )

    async def handle(self, batch: Sequence[Record[OperationRequested]]) -> None:
        """Execute the operations in order, successive purges as one; each may be repeated from the start."""
        for kind, records in groupby(batch, key=lambda record: record.event.kind):
            events = [record.event for record in records]
            if kind == "purge":
                await self._purge({incarnation for event in events for incarnation in event.incarnations})
            for event in events:
                error = await self._move(event) if kind == "move" else None
                await self.operations.record(_finished_operation(event, error, self.clock))

    async def on_dead_letter(self, record: Record[OperationRequested], reason: str) -> None:
        await self.operations.record(_finished_operation(record.event, reason, self.clock))

    async def _purge(self, incarnations: Collection[str]) -> None:
        """Erase unowned incarnations; those moved to another namespace meanwhile stay."""
        unowned = frozenset(key for key in incarnations if self.catalog.namespace_of(key) is None)
        if unowned:
            await self.eraser.delete_incarnations(unowned)

    async def _move(self, event: OperationRequested) -> str | None:
        """Move the content; return None, or the reason why there was nothing to move."""
        if event.target is None or event.target == event.source:
            return "A move needs a target of another name."
        source, target = f"namespace/{event.source}", f"namespace/{event.target}"
        if leaving := self._leaving(event):
            async with self.settings_lock.acquire(target):
                await self._get_or_create(event.target)
            await self._rename_conflicting_documents(leaving, event.target, event.source)
            async with self.settings_lock.acquire(source, target):
                # Only what is still there: the source may have been deleted meanwhile, and its rows with it.
                if leaving := self._leaving(event):
                    await self._transfer_incarnations(event.source, event.target, leaving)
                    return None
        moved = frozenset(event.incarnations) <= self._incarnations(event.target)
        return None if moved else f"{event.source} has no content any more."

    def _leaving(self, event: OperationRequested) -> tuple[str, ...]:
        """Return the incarnations to move that the source still has."""
        present = self._incarnations(event.source)
        return tuple(key for key in event.incarnations if key in present)

    def _incarnations(self, name: str) -> frozenset[str]:
        row = self.catalog.namespace(name)
        return frozenset(row.incarnations) if row is not None else frozenset()

    async def _get_or_create(self, name: str) -> NamespaceRow:
        row = self.catalog.namespace(name)
        if row is None:
            generation = self.catalog.epoch(name)
            now = self.clock.now()
            row = NamespaceRow(name, generation, (incarnation_key(name, generation),), created_at=now, updated_at=now)
            await self._save(row)
        return row

    async def _transfer_incarnations(self, source: str, target: str, incarnations: Sequence[str]) -> None:
        """Give the incarnations to the target, then take them from the source.

        For a moment they have two owners, and never none: stages drop what has no owner. Where both are published
        together, the embedded log may show the second change first, as it divides settings by name.
        """
        gaining = await self._get_or_create(target)
        gained = tuple(dict.fromkeys((*gaining.incarnations, *incarnations)))
        await self._save(replace(gaining, incarnations=gained, updated_at=self.clock.now()))
        leaving = self.catalog.namespace(source)
        if leaving is not None:
            now = self.clock.now()
            left = tuple(key for key in leaving.incarnations if key not in incarnations)
            await self._save(
                replace(leaving, incarnations=left, updated_at=now) if left else _ended_namespace(leaving, now)
            )

    async def _save(self, row: NamespaceRow) -> None:
        event = SettingsChanged(change=NamespaceChanged.model_validate(asdict(row)))
        await self.settings_lock.publish(self.publisher, [(f"namespace/{row.name}", event)])

    async def _rename_conflicting_documents(self, moved: Sequence[str], target: str, source: str) -> None:
        """Append the source's name to document ids that the target uses already, by way of the log."""
        await self.submissions.catch_up()
        arriving = await self.documents.columns(moved)
        present = set((await self.documents.columns(sorted(self._incarnations(target) - set(moved)))).ids)
        names = conflict_free_ids(list(arriving.ids), present, source)
        keys = {key: names[id_] for key, id_ in zip(arriving.keys, arriving.ids, strict=True) if id_ in names}
        found = await self.documents.get(keys)
        rows = [row for rows in found.values() for row in rows]
        entries = [(f"{row.incarnation}/{row.key}", _rename_event(row, keys[row.key], self.clock)) for row in rows]
        if not entries:
            return
        positions = await self.publisher.publish(DOCUMENTS_SUBMITTED, entries)
        if not await self.submissions.wait_until_shown(positions):
            raise OutageError(f"The new names of {len(rows)} documents of {source} are not in the tables yet.")


def conflict_free_ids(arriving: Sequence[str], present: Collection[str], source: str) -> dict[str, str]:
    """New ids for taken ones: `<id>~<source>`, numbered if that is taken too.

    >>> conflict_free_ids(["a", "b"], {"a"}, "old")
    {'a': 'a~old'}
    """
    taken = {*present, *arriving}
    names: dict[str, str] = {}
    for id_ in arriving:
        if id_ in present:
            names[id_] = _free_id(id_, source, taken)
            taken.add(names[id_])
    return names


def _free_id(document_id: str, source: str, taken: Collection[str]) -> str:
    number = 1
    while True:
        ending = f"~{source}" if number == 1 else f"~{source}~{number}"
        name = document_id[: MAX_DOCUMENT_ID_LENGTH - len(ending)] + ending
        if name not in taken:
            return name
        number += 1


def _rename_event(row: DocumentRow, name: str, clock: Clock) -> DocumentSubmitted:
    return DocumentSubmitted(operation="patch", incarnation=row.incarnation, document=row.key, id=name, at=clock.now())


def _ended_namespace(row: NamespaceRow, now: datetime) -> NamespaceRow:
    """Free the name for its next incarnation."""
    return NamespaceRow(row.name, row.epoch + 1, (), created_at=row.created_at, updated_at=now)


def _finished_operation(event: OperationRequested, error: str | None, clock: Clock) -> OperationRow:
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
