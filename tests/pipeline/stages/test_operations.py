"""Moving a namespace's content, and erasing what nobody owns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.changes import Changes
from pipeline.rows import OperationRow
from pipeline.stages import operations
from pipeline.stages.operations import renamed
from schemas.events import OperationRequested, OrganizationChanged
from schemas.limits import DOCUMENT_ID_LENGTH
from schemas.topics import DOCUMENTS_SUBMITTED, OPERATIONS_REQUESTED, SETTINGS_CHANGED
from tests.fakes import EPOCH, record
from tests.pipeline.memory.world import World

pytestmark = pytest.mark.anyio


class Erased:
    def __init__(self) -> None:
        self.spaces: list[frozenset[str]] = []

    async def remove_spaces(self, spaces: frozenset[str]) -> None:
        self.spaces.append(spaces)


class Recorded:
    def __init__(self) -> None:
        self.rows: dict[str, OperationRow] = {}

    async def record(self, row: OperationRow) -> None:
        self.rows[row.id] = row


class Office:
    """A world with a stage of operations."""

    def __init__(self) -> None:
        self.world = World()
        self.world.catalog.create("bob")
        self.erased = Erased()
        self.recorded = Recorded()
        self.stage = operations.build(
            documents=self.world.documents,
            catalog=self.world.catalog,
            operations=self.recorded,
            publisher=self.world.publisher,
            clock=self.world.clock,
            store=self.erased,
            turn=Changes().turn,
        )

    async def ask(self, kind: str, source: str, *spaces: str, target: str | None = None) -> OperationRow:
        event = OperationRequested.model_validate(
            {"id": "op", "kind": kind, "source": source, "spaces": spaces, "target": target, "at": EPOCH}
        )
        await self.stage.handle([record(OPERATIONS_REQUESTED, source, event, 0)])
        return self.recorded.rows["op"]

    def spaces(self, name: str) -> tuple[str, ...]:
        row = self.world.catalog.namespace(name)
        return row.spaces if row is not None else ()


async def test_a_purge_erases_only_what_nobody_owns() -> None:
    office = Office()
    done = await office.ask("purge", "carl", "carl#0", "bob#0")
    assert done.status == "done"
    assert office.erased.spaces == [frozenset({"carl#0"})]


async def test_a_move_hands_the_spaces_over_and_frees_the_name() -> None:
    office = Office()
    await office.world.say("a", "I like tea.", space="bob#0")
    done = await office.ask("move", "bob", "bob#0", target="alice")
    assert (done.status, done.error) == ("done", None)
    assert office.spaces("alice") == ("alice#0", "bob#0")
    assert office.spaces("bob") == ()
    assert office.world.catalog.generation("bob") == 1
    assert [key for key, _ in office.world.publisher.topics[SETTINGS_CHANGED.name]] == [
        "namespace/alice",
        "namespace/bob",
    ]


async def test_a_move_done_twice_is_done_once() -> None:
    office = Office()
    await office.world.write("a", "x", space="bob#0")
    await office.world.write("a", "x")
    await office.ask("move", "bob", "bob#0", target="alice")
    before = {name: list(events) for name, events in office.world.publisher.topics.items()}
    assert (await office.ask("move", "bob", "bob#0", target="alice")).status == "done"
    assert office.world.publisher.topics == before


async def test_a_move_begins_the_target_where_there_is_none() -> None:
    office = Office()
    await office.ask("move", "bob", "bob#0", target="new")
    assert office.spaces("new") == ("new#0", "bob#0")


async def test_a_move_of_what_is_gone_fails_with_a_reason() -> None:
    office = Office()
    done = await office.ask("move", "carl", "carl#0", target="alice")
    assert done.status == "failed"
    assert done.error is not None
    assert "carl" in done.error


async def test_documents_of_the_same_id_are_kept_apart_through_the_log() -> None:
    office = Office()
    await office.world.write("a", "mine")
    await office.world.write("a", "theirs", space="bob#0")
    await office.world.write("b", "other", space="bob#0")
    before = [OrganizationChanged(updated_at=EPOCH)] * office.world.seq
    office.world.publisher.topics[DOCUMENTS_SUBMITTED.name] = [
        ("what the log held so far", one) for one in before
    ]
    await office.ask("move", "bob", "bob#0", target="alice")
    ids = sorted(row.id for row in office.world.documents.rows)
    assert ids == ["a", "a~bob", "b"]
    assert [event.id for event in office.world.publisher.events(DOCUMENTS_SUBMITTED)] == ["a~bob"]


@given(
    st.lists(st.sampled_from(["a", "a~old", "a~old~2", "b", "c" * DOCUMENT_ID_LENGTH]), unique=True),
    st.sets(st.sampled_from(["a", "a~old", "a~old~2", "b", "c" * DOCUMENT_ID_LENGTH])),
)
def test_new_ids_are_unique_and_not_too_long(arriving: list[str], present: set[str]) -> None:
    names = renamed(arriving, present, "old")
    after = [names.get(one, one) for one in arriving]
    assert names.keys() == set(arriving) & present
    assert len(set(after) | present) == len(after) + len(present)
    assert all(len(one) <= DOCUMENT_ID_LENGTH for one in after)
