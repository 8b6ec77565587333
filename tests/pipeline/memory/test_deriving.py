"""What follows from two memories: only what holds, in any order of arrival, and for as long as both do."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.deriving.forming import MOST_PARTNERS
from pipeline.memory.deriving.rules import concluded, held, sought
from schemas.base import Metadata
from schemas.topics import MEMORIES_FORMED
from tests.data.conclusions import pairs
from tests.pipeline.memory.world import World

pytestmark = pytest.mark.anyio

SISTER, HOME = "My sister is Clara.", "Clara lives in Rome."
SO = "User's sister Clara lives in Rome"


@pytest.mark.parametrize("half", ["open", "locked"])
def test_what_is_concluded_holds_and_most_that_holds_is_concluded(half: Literal["open", "locked"]) -> None:
    right = said = 0
    for pair in pairs(half):
        texts = [one.text for one in concluded(pair.one, pair.other)]
        said += len(texts)
        right += pair.conclusion in texts
    assert right >= 0.95 * said
    assert right >= 0.75 * sum(pair.conclusion is not None for pair in pairs(half))


def test_there_are_pairs_from_which_something_follows_and_pairs_from_which_nothing_does() -> None:
    every = [*pairs("open"), *pairs("locked")]
    assert len(every) >= 60
    assert len(pairs("locked")) * 2 >= len(every)
    assert min(Counter(pair.conclusion is None for pair in every).values()) > len(every) / 3


@pytest.mark.parametrize("half", ["open", "locked"])
def test_either_memory_is_found_by_the_keys_that_are_sought_for_the_other(
    half: Literal["open", "locked"],
) -> None:
    found = [pair for pair in pairs(half) if concluded(pair.one, pair.other)]
    assert found
    for pair in found:
        assert set(held(pair.one)) & set(sought(pair.other)), pair
        assert set(held(pair.other)) & set(sought(pair.one)), pair


async def _told(*texts: str) -> World:
    world = World()
    for number, text in enumerate(texts):
        await world.say(f"d{number}", text)
    return world


async def test_a_conclusion_says_by_which_rule_from_what_and_how_sure_it_is() -> None:
    world = await _told(SISTER, HOME)
    row = world.memory(SO)
    premises = {world.memory("User's sister is Clara").id, world.memory("Clara lives in Rome").id}
    assert (row.is_inference, row.is_latest, row.is_static) == (True, True, True)
    assert {one.target for one in row.relations} == premises
    for one in row.relations:
        assert (one.kind, one.slot, one.score) == ("derives", "role", 0.9)
        assert set((one.evidence or "").split(" + ")) == premises
        assert "User's sister is Clara" in one.why
        assert "Clara lives in Rome" in one.why


async def test_one_document_may_say_both() -> None:
    assert SO in (await _told(f"{SISTER} {HOME}")).latest()


async def test_a_conclusion_falls_when_one_of_both_is_updated_forgotten_over_or_deleted() -> None:
    assert SO not in (await _told(SISTER, HOME, "Clara moved to Oslo.")).latest()
    forgotten = await _told(SISTER, HOME)
    await forgotten.forgotten("User's sister is Clara")
    assert SO not in forgotten.latest()
    for name in ("d0", "d1"):
        deleted = await _told(SISTER, HOME)
        deleted.restart()
        await deleted.delete(name)
        assert SO not in deleted.versions()
    leave = await _told("My manager is Ana.", "Ana is on leave until 27 November 2026.")
    said = "User's manager Ana is on leave until 27 November 2026"
    assert said in leave.latest()
    assert leave.memory("Ana is on leave until 27 November 2026").expires_at is not None
    await leave.forgotten("Ana is on leave until 27 November 2026")
    assert said not in leave.latest()


async def test_what_was_updated_is_followed_by_what_follows_from_the_update() -> None:
    world = await _told(SISTER, HOME, "Clara lives in Oslo.")
    assert "User's sister Clara lives in Oslo" in world.latest()
    await world.delete("d2")
    assert SO in world.latest()


async def test_nothing_is_concluded_from_conclusions_or_from_what_is_forgotten() -> None:
    world = await _told(SISTER)
    await world.forgotten("User's sister is Clara")
    await world.say("d1", HOME)
    assert world.latest() == {"Clara lives in Rome"}
    chain = await _told("My mother is Eva.", "Eva's mother is Rosa.", "Rosa's mother is Ida.")
    derived = {row.text for row in chain.memories.rows if row.is_inference}
    assert derived == {"User's grandmother is Rosa", "Eva's grandmother is Ida"}


@pytest.mark.parametrize("groups", [({"a": "1"}, {"a": "2"}), ({"a": "1"}, None), (None, {"a": "1"})])
async def test_what_documents_of_different_groups_say_is_not_put_together(
    groups: tuple[Metadata | None, Metadata | None],
) -> None:
    world = World()
    for group, text in zip(groups, (SISTER, HOME), strict=True):
        row = await world.write(text, text, group=group)
        await world.relate.handle(await world.formed(row))
    assert SO not in world.latest()


async def test_within_a_group_it_is() -> None:
    world = World()
    for text in (SISTER, HOME):
        row = await world.write(text, text, group={"a": "1"})
        await world.relate.handle(await world.formed(row))
    assert SO in world.latest()


async def test_a_name_that_very_many_have_something_to_do_with_says_nothing() -> None:
    many = " ".join(f"Person{chr(65 + at)}'s sister is Clara." for at in range(MOST_PARTNERS + 1))
    world = await _told(many, HOME)
    assert not [row for row in world.memories.rows if row.is_inference]


SAID = (
    SISTER,
    "Clara is my sister.",
    HOME,
    "Clara moved to Oslo.",
    "Clara works at Acme.",
    "Acme is based in Berlin.",
    "Oslo is in Norway.",
    "Clara's son is Finn.",
    f"{SISTER} {HOME}",
    "I like tea.",
)
STORIES = st.lists(st.sampled_from(SAID), min_size=2, max_size=6).flatmap(
    lambda story: st.tuples(st.just(story), st.permutations(range(len(story))))
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "delete", "restart"]),
        st.sampled_from("abc"),
        st.sampled_from(SAID),
    ),
    max_size=9,
)


def _graph(world: World) -> set[tuple[str, str | None, frozenset[str]]]:
    """Every conclusion that holds, of which time it is, and from what it follows."""
    texts = {row.id: row.text for row in world.memories.rows}
    return {
        (row.text, row.date, frozenset(texts[one.target] for one in row.relations))
        for row in world.memories.rows
        if row.is_inference and row.is_latest
    }


async def _arrived(story: Sequence[str], order: Sequence[int]) -> World:
    world = World()
    for at in order:
        await world.say(f"d{at}", story[at], date=f"2026-02-{at + 1:02}")
    return world


@given(STORIES)
@settings(max_examples=25, deadline=None)
async def test_any_order_of_arrival_leads_to_the_same_conclusions(told: tuple[list[str], list[int]]) -> None:
    story, order = told
    assert _graph(await _arrived(story, order)) == _graph(await _arrived(story, range(len(story))))


@given(STEPS, st.integers(1, 9))
@settings(max_examples=30, deadline=None)
async def test_a_replay_makes_the_same_conclusions_in_batches_of_any_size(
    steps: list[tuple[str, str, str]], size: int
) -> None:
    world = World()
    for verb, name, text in steps:
        match verb:
            case "say":
                await world.say(name, text)
            case "delete":
                await world.delete(name)
            case _:
                world.restart()
    other = World()
    for row in world.documents.rows:
        await other.documents.update([row.key], lambda _, __, row=row: [row])  # type: ignore[misc]  # bound per turn
    records = world.publisher.records(MEMORIES_FORMED)
    for begin in range(0, len(records), size):
        await other.relate.handle(records[begin : begin + size])
    assert other.state() == world.state()
