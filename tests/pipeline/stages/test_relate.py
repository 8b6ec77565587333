"""From what was formed to the table: sources, versions, forgetting; in any order, any number of times."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rows import MemoryRow
from pipeline.stage import Record
from schemas.events import MemoriesFormed
from tests.pipeline.memory.world import World

pytestmark = pytest.mark.anyio


async def test_a_fact_becomes_a_memory_with_its_place_and_its_document_is_done() -> None:
    world = World()
    await world.say("a", "Hello! I live in Berlin.")
    row = world.memory("User lives in Berlin")
    assert row.sources == (world.key("a"),)
    assert (row.start, row.end) == (7, 24)
    assert (row.version, row.is_latest, row.is_static) == (1, True, True)
    assert not world.documents.groups[world.key("a")][0].dreaming


async def test_everything_is_durable_when_the_stage_returns() -> None:
    world = World()
    await world.say("a", "I live in Berlin.")
    assert world.memories.pending == 0
    assert world.documents.pending == 0


async def test_a_new_value_updates_the_old_one_which_stays_in_the_history() -> None:
    world = World()
    await world.say("a", "I live in Berlin.")
    await world.say("b", "I moved to Paris last month.")
    await world.say("c", "I live in Rome now.")
    assert world.latest() == {"User lives in Rome now"}
    assert world.versions() == {
        "User lives in Berlin": 1,
        "User moved to Paris in December 2025": 2,
        "User lives in Rome now": 3,
    }


async def test_other_facts_stay_beside_each_other() -> None:
    world = World()
    await world.say("a", "I live in Berlin. I like tea. I work at Acme. Ann lives in Rome.")
    await world.say("b", "I like coffee. My favourite colour is green.")
    assert all(row.is_latest and row.version == 1 for row in world.memories.rows)
    assert len(world.memories.rows) == 6


async def test_the_same_fact_from_two_documents_is_one_memory_with_two_sources() -> None:
    world = World()
    await world.say("a", "I like tea.")
    await world.say("b", "I like tea!")
    assert [row.sources for row in world.memories.rows] == [(world.key("a"), world.key("b"))]
    await world.delete("a")
    assert [row.sources for row in world.memories.rows] == [(world.key("b"),)]
    await world.delete("b")
    assert world.memories.rows == []


async def test_a_fact_that_the_document_no_longer_states_goes() -> None:
    world = World()
    await world.say("a", "I like tea. I own a boat.")
    await world.say("a", "I like tea.")
    assert world.latest() == {"User likes tea"}


async def test_when_the_head_of_a_chain_goes_the_newest_that_is_left_is_the_latest() -> None:
    world = World()
    for name, town in (("a", "Berlin"), ("b", "Paris"), ("c", "Rome")):
        await world.say(name, f"I live in {town}.")
    await world.delete("c")
    assert world.latest() == {"User lives in Paris"}
    await world.delete("b")
    assert world.latest() == {"User lives in Berlin"}
    assert world.versions() == {"User lives in Berlin": 1}


async def test_a_version_missing_in_the_middle_leaves_one_head() -> None:
    world = World()
    for name, town in (("a", "Berlin"), ("b", "Paris"), ("c", "Rome")):
        await world.say(name, f"I live in {town}.")
    await world.delete("b")
    assert world.latest() == {"User lives in Rome"}
    assert world.versions() == {"User lives in Berlin": 1, "User lives in Rome": 2}


async def test_an_older_fact_that_arrives_later_becomes_an_older_version() -> None:
    world = World()
    await world.say("a", "I live in Rome.", date="2024-05-01")
    await world.say("b", "I live in Paris.", date="2021-01-01")
    await world.say("c", "I live in Berlin.", date="2022-06-01")
    assert world.latest() == {"User lives in Rome"}
    assert world.versions() == {"User lives in Paris": 1, "User lives in Berlin": 2, "User lives in Rome": 3}


async def test_a_value_that_comes_back_is_a_new_version() -> None:
    world = World()
    for name, town in (("a", "Berlin"), ("b", "Paris"), ("c", "Berlin")):
        await world.say(name, f"I live in {town}.")
    heads = [row for row in world.memories.rows if row.is_latest]
    assert [(row.text, row.version, row.sources) for row in heads] == [
        ("User lives in Berlin", 3, (world.key("c"),))
    ]
    await world.say("d", "I live in Berlin.")
    assert world.memory("User lives in Berlin").sources == (world.key("c"), world.key("d"))


async def test_a_document_that_repeats_its_old_text_does_not_turn_back_time() -> None:
    world = World()
    await world.say("a", "I live in Berlin.")
    await world.say("b", "I live in Paris.")
    await world.say("a", "I live in Berlin. I like tea.")
    assert world.latest() == {"User lives in Paris", "User likes tea"}


async def test_a_document_can_change_its_mind_within_its_text() -> None:
    world = World()
    text = "Ann: I live in Berlin.\nBob: I like it there.\nAnn: I moved to Paris.\nAnn: I live in Berlin."
    await world.say("a", text)
    assert {
        row.version: row.text for row in world.memories.rows if "lives" in row.text or "moved" in row.text
    } == {
        1: "Ann lives in Berlin",
        2: "Ann moved to Paris",
        3: "Ann lives in Berlin",
    }
    before = world.state()
    await world.say("a", f"{text}\nBob: I like tea.")
    assert {id_: row for id_, row in world.state().items() if id_ in before} == before


async def test_forgetting_hides_and_the_older_version_does_not_come_back() -> None:
    world = World()
    await world.say("a", "I live in Berlin.")
    await world.say("b", "I live in Paris.")
    await world.forgotten("User lives in Paris")
    assert world.latest() == set()
    assert world.versions() == {"User lives in Berlin": 1, "User lives in Paris": 2}


async def test_reprocessing_does_not_revive_what_was_forgotten_but_saying_it_again_does() -> None:
    world = World()
    await world.say("a", "I like tea.")
    await world.forgotten("User likes tea")
    await world.say("a", "I like tea. I like milk.")
    assert world.latest() == {"User likes milk"}
    await world.say("b", "I like tea.")
    assert world.latest() == {"User likes milk", "User likes tea"}


async def test_a_document_submitted_before_the_forgetting_does_not_revive() -> None:
    world = World()
    await world.say("a", "I like tea.")
    row = await world.write("b", "I like tea.")
    await world.forgotten("User likes tea")
    await world.relate.handle(await world.formed(row))
    assert world.latest() == set()
    assert len(world.memory("User likes tea").sources) == 2


async def test_what_belongs_to_a_deleted_namespace_or_document_is_dropped() -> None:
    world = World()
    gone = await world.formed(await world.write("a", "I like tea."))
    await world.delete("a")
    await world.relate.handle(gone)
    assert world.memories.rows == []
    other = await world.formed(await world.write("b", "I like milk."))
    world.catalog.names.clear()
    await world.relate.handle(other)
    assert world.memories.rows == []


async def test_what_belongs_to_an_earlier_life_of_a_document_is_dropped() -> None:
    world = World()
    old = await world.formed(await world.write("a", "I like tea."))
    await world.delete("a")
    await world.write("a", "I like water.")
    await world.relate.handle(old)
    assert world.memories.rows == []


async def test_a_fact_is_known_since_it_was_first_said_whether_or_not_its_text_was_replaced_by_then() -> None:
    rows = []
    for late in (False, True):
        world = World()
        old = await world.formed(await world.write("a", "I like tea. I like milk."))
        if not late:
            await world.relate.handle(old)
        new = await world.formed(await world.write("a", "I like tea."))
        if late:
            await world.relate.handle(old)
        await world.relate.handle(new)
        rows.append([(row.text, row.created_at, row.updated_at) for row in world.memories.rows])
    assert rows[0] == rows[1]
    assert [text for text, _, _ in rows[0]] == ["User likes tea"]


async def test_a_document_that_is_gone_leaves_no_trace_in_what_others_state() -> None:
    states = []
    for names in (["a"], ["a", "b"]):
        world = World()
        for name in names:
            await world.say(name, "I like tea.")
        if "b" in names:
            await world.delete("b")
        (row,) = world.memories.rows
        states.append((row.sources, row.seq, row.created_at, row.updated_at, row.date))
    assert states[0] == states[1]


async def test_versions_run_across_the_spaces_of_a_namespace() -> None:
    world = World()
    world.catalog.create("bob")
    await world.say("a", "I live in Berlin.", space="bob#0")
    spaces = ("alice#0", "bob#0")
    world.catalog.create("alice")
    world.catalog.names["alice"] = type(world.catalog.names["alice"])(
        "alice", 0, spaces, world.now(), world.now()
    )
    del world.catalog.names["bob"]
    await world.say("b", "I live in Paris.")
    assert world.latest() == {"User lives in Paris"}


TOWNS = ("Berlin", "Paris", "Rome")
Step = tuple[str, str, str, str | None]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "delete", "forget", "restart"]),
        st.sampled_from("abcd"),
        st.sampled_from([*TOWNS, "Berlin. I live in Paris", "Rome. I live in Rome. I like tea"]),
        st.sampled_from([None, "2020-01-01", "2021-01-01", "2022-01-01"]),
    ),
    max_size=9,
)


async def _live(world: World, steps: list[Step]) -> list[Record[MemoriesFormed]]:
    delivered: list[Record[MemoriesFormed]] = []
    for verb, name, town, date in steps:
        match verb:
            case "say":
                records = await world.formed(await world.write(name, f"I live in {town}.", date=date))
                delivered += records
                await world.relate.handle(records)
            case "delete":
                await world.delete(name)
            case "forget":
                if any(row.text == f"User lives in {town}" for row in world.memories.rows):
                    await world.forgotten(f"User lives in {town}")
            case _:
                world.restart()
    return delivered


def _chains(rows: list[MemoryRow]) -> list[list[MemoryRow]]:
    by_id = {row.id: row for row in rows}
    group = {row.id: {row.id} for row in rows}
    for row in rows:
        for one in row.relations:
            if one.target in by_id and group[one.target] is not group[row.id]:
                group[row.id] |= group[one.target]
                for member in group[row.id]:
                    group[member] = group[row.id]
    return [
        [by_id[one] for one in members] for members in {id(found): found for found in group.values()}.values()
    ]


@given(STEPS)
@settings(max_examples=150, deadline=None)
async def test_a_chain_has_one_latest_version_unless_its_head_is_forgotten(steps: list[Step]) -> None:
    world = World()
    await _live(world, steps)
    for chain in _chains(world.memories.rows):
        top = max(row.version for row in chain)
        heads = [row for row in chain if row.version == top]
        values = {row.text for row in chain if row.is_latest}
        if any(row.forgotten_at is None for row in heads):
            assert len(values) == 1
        for row in chain:
            assert not (row.is_latest and row.forgotten_at)
            assert row.sources


@given(STEPS, st.integers(0, 9))
@settings(max_examples=100, deadline=None)
async def test_delivering_again_changes_nothing(steps: list[Step], begin: int) -> None:
    world = World()
    delivered = await _live(world, steps)
    before = world.state()
    await world.relate.handle(delivered[begin:])
    assert world.state() == before
    world.restart()
    for one in delivered[begin:]:
        await world.relate.handle([one])
    assert world.state() == before


@given(STEPS)
@settings(max_examples=100, deadline=None)
async def test_events_of_older_texts_may_be_left_out(steps: list[Step]) -> None:
    """As in a replay, where the documents are at their newest before the first memory comes."""
    says: list[Step] = [("say", name, town, None) for verb, name, town, _ in steps if verb == "say"]
    world, other = World(), World()
    delivered = await _live(world, says)
    for _, name, town, date in says:
        await other.write(name, f"I live in {town}.", date=date)
    await other.relate.handle(delivered)
    newest = {row.key: row.content_seq for row in world.documents.rows}
    kept = {one.event.document for one in delivered if one.event.seq == newest[one.event.document]}
    assert kept == set(newest)
    assert {row.id: (row.text, row.is_latest, row.version) for row in other.memories.rows} == {
        row.id: (row.text, row.is_latest, row.version) for row in world.memories.rows
    }


async def test_what_a_process_wrote_for_a_document_that_is_gone_goes_when_its_record_comes_again() -> None:
    world = World()
    again = await world.formed(await world.write("a", "I like tea."))
    await world.relate.handle(again)
    await world.documents.update([world.key("a")], lambda _, __: [])
    assert world.memories.rows
    await world.relate.handle(again)
    assert world.memories.rows == []
