"""Moving a namespace's content, and erasing what nobody owns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.ports import Position
from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow, OperationRow
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.stages.namespace_operations_stage import NamespaceOperationsStage, conflict_free_ids
from schemas.events import DocumentSubmitted, NamespaceChanged, OperationRequested, OrganizationChanged, SettingsChanged
from schemas.limits import MAX_DOCUMENT_ID_LENGTH
from schemas.topics import DOCUMENTS_SUBMITTED, OPERATIONS_REQUESTED, SETTINGS_CHANGED
from tests.support.fakes import EPOCH, record
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio


class RecordingEraser:
    def __init__(self) -> None:
        self.incarnations: list[frozenset[str]] = []

    async def delete_incarnations(self, incarnations: frozenset[str]) -> None:
        self.incarnations.append(incarnations)


class RecordingOperations:
    def __init__(self) -> None:
        self.rows: dict[str, OperationRow] = {}

    async def record(self, row: OperationRow) -> None:
        self.rows[row.id] = row


class AppliedSubmissions:
    """Applies what was published to the tables when readers are to see it."""

    writes_tables = True

    def __init__(self, world: MemoryHarness) -> None:
        self.world = world

    async def catch_up(self) -> None: ...

    async def refresh_if_available(self) -> bool:
        return True

    async def wait_until_shown(self, positions: Sequence[Position]) -> bool:
        submitted = self.world.publisher.topics[DOCUMENTS_SUBMITTED.name]
        for position in positions:
            event = submitted[position.offset][1]
            assert isinstance(event, DocumentSubmitted)
            await self.world.documents.update([event.document], partial(_applied, event, position.offset))
        return True

    async def wait_until_handled(self, positions: Sequence[Position]) -> bool:
        return await self.wait_until_shown(positions)


def _applied(event: DocumentSubmitted, offset: int, _: str, rows: list[DocumentRow]) -> list[DocumentRow]:
    after = apply_submission(rows[0] if rows else None, event, offset)
    return [] if after is None else [after]


class DeletingSubmissions(AppliedSubmissions):
    """Deletes bob when a move begins to rename documents."""

    async def catch_up(self) -> None:
        ended = NamespaceChanged(name="bob", epoch=1, incarnations=(), created_at=EPOCH, updated_at=EPOCH)
        self.world.catalog.apply(SettingsChanged(change=ended))


class OperationsHarness:
    """A world with a stage of operations."""

    def __init__(self) -> None:
        self.world = MemoryHarness()
        self.world.catalog.create("bob")
        self.owners_of_bob = list[str | None]()
        """Who owned the first content of bob after each change of settings."""
        self.erased = RecordingEraser()
        self.recorded = RecordingOperations()
        self.stage = NamespaceOperationsStage(
            documents=self.world.documents,
            catalog=self.world.catalog,
            operations=self.recorded,
            publisher=self.world.publisher,
            clock=self.world.clock,
            eraser=self.erased,
            settings_lock=SettingsLock(wait_for=self._apply_settings),
            submissions=AppliedSubmissions(self.world),
        )

    async def _apply_settings(self, _: Mapping[int, int]) -> None:
        for event in self.world.publisher.events(SETTINGS_CHANGED):
            self.world.catalog.apply(event)
        owner = self.world.catalog.namespace_of("bob#0")
        self.owners_of_bob.append(None if owner is None else owner.name)

    async def request_operation(
        self, kind: str, source: str, *incarnations: str, target: str | None = None
    ) -> OperationRow:
        event = OperationRequested.model_validate(
            {
                "id": "op",
                "kind": kind,
                "source": source,
                "incarnations": incarnations,
                "target": target,
                "at": EPOCH,
            }
        )
        await self.stage.handle([record(OPERATIONS_REQUESTED, source, event, 0)])
        return self.recorded.rows["op"]

    def incarnations(self, name: str) -> tuple[str, ...]:
        row = self.world.catalog.namespace(name)
        return row.incarnations if row is not None else ()


async def test_a_purge_erases_only_what_nobody_owns() -> None:
    office = OperationsHarness()
    done = await office.request_operation("purge", "carl", "carl#0", "bob#0")
    assert done.status == "done"
    assert office.erased.incarnations == [frozenset({"carl#0"})]


async def test_purges_in_a_row_are_one_erasure() -> None:
    office = OperationsHarness()
    events = [
        OperationRequested(id=name, kind="purge", source=name, incarnations=(f"{name}#0",), at=EPOCH)
        for name in ("carl", "dora", "bob")
    ]
    await office.stage.handle(
        [record(OPERATIONS_REQUESTED, event.source, event, at) for at, event in enumerate(events)]
    )
    assert office.erased.incarnations == [frozenset({"carl#0", "dora#0"})]
    assert {row.status for row in office.recorded.rows.values()} == {"done"}


async def test_a_move_hands_the_incarnations_over_and_frees_the_name() -> None:
    office = OperationsHarness()
    await office.world.write_and_extract("a", "I like tea.", incarnation="bob#0")
    done = await office.request_operation("move", "bob", "bob#0", target="alice")
    assert (done.status, done.error) == ("done", None)
    assert office.incarnations("alice") == ("alice#0", "bob#0")
    assert office.incarnations("bob") == ()
    assert office.world.catalog.epoch("bob") == 1
    assert [key for key, _ in office.world.publisher.topics[SETTINGS_CHANGED.name]] == [
        "namespace/alice",
        "namespace/bob",
    ]


async def test_content_that_moves_has_an_owner_all_the_time() -> None:
    office = OperationsHarness()
    await office.request_operation("move", "bob", "bob#0", target="alice")
    assert office.owners_of_bob == ["alice", "alice"]


async def test_a_move_done_twice_is_done_once() -> None:
    office = OperationsHarness()
    await office.world.write_document("a", "x", incarnation="bob#0")
    await office.world.write_document("a", "x")
    await office.request_operation("move", "bob", "bob#0", target="alice")
    before = {name: list(events) for name, events in office.world.publisher.topics.items()}
    assert (await office.request_operation("move", "bob", "bob#0", target="alice")).status == "done"
    assert office.world.publisher.topics == before


async def test_a_move_begins_the_target_where_there_is_none() -> None:
    office = OperationsHarness()
    await office.request_operation("move", "bob", "bob#0", target="new")
    assert office.incarnations("new") == ("new#0", "bob#0")


async def test_a_move_of_what_is_gone_fails_with_a_reason() -> None:
    office = OperationsHarness()
    done = await office.request_operation("move", "carl", "carl#0", target="alice")
    assert done.status == "failed"
    assert done.error is not None
    assert "carl" in done.error


async def test_content_that_is_deleted_while_it_moves_stays_deleted() -> None:
    office = OperationsHarness()
    office.stage = replace(office.stage, submissions=DeletingSubmissions(office.world))
    done = await office.request_operation("move", "bob", "bob#0", target="alice")
    assert (done.status, done.error) == ("failed", "bob has no content any more.")
    assert office.incarnations("alice") == ("alice#0",)


async def test_documents_of_the_same_id_are_kept_apart_through_the_log() -> None:
    office = OperationsHarness()
    await office.world.write_document("a", "mine")
    await office.world.write_document("a", "theirs", incarnation="bob#0")
    await office.world.write_document("b", "other", incarnation="bob#0")
    before = [OrganizationChanged(updated_at=EPOCH)] * office.world.seq
    office.world.publisher.topics[DOCUMENTS_SUBMITTED.name] = [("what the log held so far", item) for item in before]
    await office.request_operation("move", "bob", "bob#0", target="alice")
    ids = sorted(row.id for row in office.world.documents.rows)
    assert ids == ["a", "a~bob", "b"]
    assert [event.id for event in office.world.publisher.events(DOCUMENTS_SUBMITTED)] == ["a~bob"]


@given(
    st.lists(st.sampled_from(["a", "a~old", "a~old~2", "b", "c" * MAX_DOCUMENT_ID_LENGTH]), unique=True),
    st.sets(st.sampled_from(["a", "a~old", "a~old~2", "b", "c" * MAX_DOCUMENT_ID_LENGTH])),
)
def test_new_ids_are_unique_and_not_too_long(arriving: list[str], present: set[str]) -> None:
    names = conflict_free_ids(arriving, present, "old")
    after = [names.get(item, item) for item in arriving]
    assert names.keys() == set(arriving) & present
    assert len(set(after) | present) == len(after) + len(present)
    assert all(len(item) <= MAX_DOCUMENT_ID_LENGTH for item in after)
