"""Projection of memories to the table: sources, versions, forgetting; in any order, any number of times."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rows import MemoryRow
from pipeline.stage import Record
from schemas.events import MemoriesFormed
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio


async def test_a_fact_becomes_a_memory_with_its_place_and_its_document_is_done() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "Hello! I live in Berlin.")
    row = world.memory("User lives in Berlin")
    assert row.sources == (world.key("a"),)
    assert (row.start, row.end) == (7, 24)
    assert (row.version, row.is_latest, row.is_static) == (1, True, True)
    assert not world.documents.rows_by_key[world.key("a")][0].extraction_pending


async def test_everything_is_durable_when_the_stage_returns() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Berlin.")
    assert world.memories.pending == 0
    assert world.documents.pending == 0


async def test_a_new_value_updates_the_old_one_which_stays_in_the_history() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Berlin.")
    await world.write_and_extract("b", "I moved to Paris last month.")
    await world.write_and_extract("c", "I live in Rome now.")
    assert world.latest_texts() == {"User lives in Rome now"}
    assert world.versions_by_text() == {
        "User lives in Berlin": 1,
        "User moved to Paris in December 2025": 2,
        "User lives in Rome now": 3,
    }


async def test_other_facts_stay_beside_each_other() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Berlin. I like tea. I work at Acme. Ann lives in Rome.")
    await world.write_and_extract("b", "I like coffee. My favourite colour is green.")
    assert all(row.is_latest and row.version == 1 for row in world.memories.rows)
    assert len(world.memories.rows) == 6


async def test_the_same_fact_from_two_documents_is_one_memory_with_two_sources() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I like tea.")
    await world.write_and_extract("b", "I like tea!")
    assert [row.sources for row in world.memories.rows] == [(world.key("a"), world.key("b"))]
    await world.delete_document("a")
    assert [row.sources for row in world.memories.rows] == [(world.key("b"),)]
    await world.delete_document("b")
    assert world.memories.rows == []


async def test_a_fact_that_the_document_no_longer_states_goes() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I like tea. I own a boat.")
    await world.write_and_extract("a", "I like tea.")
    assert world.latest_texts() == {"User likes tea"}


async def test_when_the_head_of_a_chain_goes_the_newest_that_is_left_is_the_latest() -> None:
    world = MemoryHarness()
    for name, town in (("a", "Berlin"), ("b", "Paris"), ("c", "Rome")):
        await world.write_and_extract(name, f"I live in {town}.")
    await world.delete_document("c")
    assert world.latest_texts() == {"User lives in Paris"}
    await world.delete_document("b")
    assert world.latest_texts() == {"User lives in Berlin"}
    assert world.versions_by_text() == {"User lives in Berlin": 1}


async def test_a_version_missing_in_the_middle_leaves_one_head() -> None:
    world = MemoryHarness()
    for name, town in (("a", "Berlin"), ("b", "Paris"), ("c", "Rome")):
        await world.write_and_extract(name, f"I live in {town}.")
    await world.delete_document("b")
    assert world.latest_texts() == {"User lives in Rome"}
    assert world.versions_by_text() == {"User lives in Berlin": 1, "User lives in Rome": 2}


async def test_an_older_fact_that_arrives_later_becomes_an_older_version() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Rome.", date="2024-05-01")
    await world.write_and_extract("b", "I live in Paris.", date="2021-01-01")
    await world.write_and_extract("c", "I live in Berlin.", date="2022-06-01")
    assert world.latest_texts() == {"User lives in Rome"}
    assert world.versions_by_text() == {
        "User lives in Paris": 1,
        "User lives in Berlin": 2,
        "User lives in Rome": 3,
    }


async def test_a_value_that_comes_back_is_a_new_version() -> None:
    world = MemoryHarness()
    for name, town in (("a", "Berlin"), ("b", "Paris"), ("c", "Berlin")):
        await world.write_and_extract(name, f"I live in {town}.")
    heads = [row for row in world.memories.rows if row.is_latest]
    assert [(row.text, row.version, row.sources) for row in heads] == [("User lives in Berlin", 3, (world.key("c"),))]
    await world.write_and_extract("d", "I live in Berlin.")
    assert world.memory("User lives in Berlin").sources == (world.key("c"), world.key("d"))


async def test_a_document_that_repeats_its_old_text_does_not_turn_back_time() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Berlin.")
    await world.write_and_extract("b", "I live in Paris.")
    await world.write_and_extract("a", "I live in Berlin. I like tea.")
    assert world.latest_texts() == {"User lives in Paris", "User likes tea"}


async def test_a_document_can_change_its_mind_within_its_text() -> None:
    world = MemoryHarness()
    text = "Ann: I live in Berlin.\nBob: I like it there.\nAnn: I moved to Paris.\nAnn: I live in Berlin."
    await world.write_and_extract("a", text)
    assert {row.version: row.text for row in world.memories.rows if "lives" in row.text or "moved" in row.text} == {
        1: "Ann lives in Berlin",
        2: "Ann moved to Paris",
        3: "Ann lives in Berlin",
    }
    before = world.comparable_state()
    await world.write_and_extract("a", f"{text}\nBob: I like tea.")
    assert {id_: row for id_, row in world.comparable_state().items() if id_ in before} == before


async def test_forgetting_hides_and_the_older_version_does_not_come_back() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Berlin.")
    await world.write_and_extract("b", "I live in Paris.")
    await world.forget_texts("User lives in Paris")
    assert world.latest_texts() == set()
    assert world.versions_by_text() == {"User lives in Berlin": 1, "User lives in Paris": 2}


async def test_reprocessing_does_not_revive_what_was_forgotten_but_saying_it_again_does() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I like tea.")
    await world.forget_texts("User likes tea")
    await world.write_and_extract("a", "I like tea. I like milk.")
    assert world.latest_texts() == {"User likes milk"}
    await world.write_and_extract("b", "I like tea.")
    assert world.latest_texts() == {"User likes milk", "User likes tea"}


async def test_a_document_submitted_before_the_forgetting_does_not_revive() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I like tea.")
    row = await world.write_document("b", "I like tea.")
    await world.forget_texts("User likes tea")
    await world.relate.handle(await world.extract(row))
    assert world.latest_texts() == set()
    assert len(world.memory("User likes tea").sources) == 2


async def test_what_belongs_to_a_deleted_namespace_or_document_is_dropped() -> None:
    world = MemoryHarness()
    gone = await world.extract(await world.write_document("a", "I like tea."))
    await world.delete_document("a")
    await world.relate.handle(gone)
    assert world.memories.rows == []
    other = await world.extract(await world.write_document("b", "I like milk."))
    world.catalog.namespaces_by_name.clear()
    await world.relate.handle(other)
    assert world.memories.rows == []


async def test_what_belongs_to_an_earlier_life_of_a_document_is_dropped() -> None:
    world = MemoryHarness()
    old = await world.extract(await world.write_document("a", "I like tea."))
    await world.delete_document("a")
    await world.write_document("a", "I like water.")
    await world.relate.handle(old)
    assert world.memories.rows == []


async def test_a_fact_is_known_since_it_was_first_said_whether_or_not_its_text_was_replaced_by_then() -> None:
    rows = []
    for late in (False, True):
        world = MemoryHarness()
        old = await world.extract(await world.write_document("a", "I like tea. I like milk."))
        if not late:
            await world.relate.handle(old)
        new = await world.extract(await world.write_document("a", "I like tea."))
        if late:
            await world.relate.handle(old)
        await world.relate.handle(new)
        rows.append([(row.text, row.created_at, row.updated_at) for row in world.memories.rows])
    assert rows[0] == rows[1]
    assert [text for text, _, _ in rows[0]] == ["User likes tea"]


async def test_a_document_that_is_gone_leaves_no_trace_in_what_others_state() -> None:
    states = []
    for names in (["a"], ["a", "b"]):
        world = MemoryHarness()
        for name in names:
            await world.write_and_extract(name, "I like tea.")
        if "b" in names:
            await world.delete_document("b")
        (row,) = world.memories.rows
        states.append((row.sources, row.seq, row.created_at, row.updated_at, row.date))
    assert states[0] == states[1]


async def test_versions_run_across_the_incarnations_of_a_namespace() -> None:
    world = MemoryHarness()
    world.catalog.create("bob")
    await world.write_and_extract("a", "I live in Berlin.", incarnation="bob#0")
    incarnations = ("alice#0", "bob#0")
    world.catalog.create("alice")
    world.catalog.namespaces_by_name["alice"] = type(world.catalog.namespaces_by_name["alice"])(
        "alice", 0, incarnations, world.now(), world.now()
    )
    del world.catalog.namespaces_by_name["bob"]
    await world.write_and_extract("b", "I live in Paris.")
    assert world.latest_texts() == {"User lives in Paris"}


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


async def _run_steps(world: MemoryHarness, steps: list[Step]) -> list[Record[MemoriesFormed]]:
    delivered: list[Record[MemoriesFormed]] = []
    for verb, name, town, date in steps:
        match verb:
            case "say":
                records = await world.extract(await world.write_document(name, f"I live in {town}.", date=date))
                delivered += records
                await world.relate.handle(records)
            case "delete":
                await world.delete_document(name)
            case "forget":
                if any(row.text == f"User lives in {town}" for row in world.memories.rows):
                    await world.forget_texts(f"User lives in {town}")
            case _:
                world.restart()
    return delivered


def _version_chains(rows: list[MemoryRow]) -> list[list[MemoryRow]]:
    by_id = {row.id: row for row in rows}
    group = {row.id: {row.id} for row in rows}
    for row in rows:
        for item in row.relations:
            if item.target in by_id and group[item.target] is not group[row.id]:
                group[row.id] |= group[item.target]
                for member in group[row.id]:
                    group[member] = group[row.id]
    return [[by_id[item] for item in members] for members in {id(found): found for found in group.values()}.values()]


@pytest.mark.no_cover
@given(STEPS)
@settings(max_examples=150, deadline=None)
async def test_a_chain_has_one_latest_version_unless_its_head_is_forgotten(steps: list[Step]) -> None:
    world = MemoryHarness()
    await _run_steps(world, steps)
    for chain in _version_chains(world.memories.rows):
        top = max(row.version for row in chain)
        heads = [row for row in chain if row.version == top]
        values = {row.text for row in chain if row.is_latest}
        if any(row.forgotten_at is None for row in heads):
            assert len(values) == 1
        for row in chain:
            assert not (row.is_latest and row.forgotten_at)
            assert row.sources


@pytest.mark.no_cover
@given(STEPS, st.integers(0, 9))
@settings(max_examples=100, deadline=None)
async def test_delivering_again_changes_nothing(steps: list[Step], begin: int) -> None:
    world = MemoryHarness()
    delivered = await _run_steps(world, steps)
    before = world.comparable_state()
    await world.relate.handle(delivered[begin:])
    assert world.comparable_state() == before
    world.restart()
    for item in delivered[begin:]:
        await world.relate.handle([item])
    assert world.comparable_state() == before


@pytest.mark.no_cover
@given(STEPS)
@settings(max_examples=100, deadline=None)
async def test_events_of_older_texts_may_be_left_out(steps: list[Step]) -> None:
    """Replay, where the documents are at their newest before the first memory comes."""
    says: list[Step] = [("say", name, town, None) for verb, name, town, _ in steps if verb == "say"]
    world, other = MemoryHarness(), MemoryHarness()
    delivered = await _run_steps(world, says)
    for _, name, town, date in says:
        await other.write_document(name, f"I live in {town}.", date=date)
    await other.relate.handle(delivered)
    newest = {row.key: row.content_seq for row in world.documents.rows}
    kept = {item.event.document for item in delivered if item.event.seq == newest[item.event.document]}
    assert kept == set(newest)
    assert {row.id: (row.text, row.is_latest, row.version) for row in other.memories.rows} == {
        row.id: (row.text, row.is_latest, row.version) for row in world.memories.rows
    }


async def test_what_a_process_wrote_for_a_document_that_is_gone_goes_when_its_record_comes_again() -> None:
    world = MemoryHarness()
    again = await world.extract(await world.write_document("a", "I like tea."))
    await world.relate.handle(again)
    await world.documents.update([world.key("a")], lambda _, __: [])
    assert world.memories.rows
    await world.relate.handle(again)
    assert world.memories.rows == []
