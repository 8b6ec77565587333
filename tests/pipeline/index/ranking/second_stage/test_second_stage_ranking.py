"""A second look: memories lift the passages they were made of, and repeat nothing that is shown already."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.index.ranking.ranking_parameters import SECOND_STAGE_CANDIDATES, UNKNOWN_NAME_PENALTY
from pipeline.index.ranking.second_stage.memory_chunk_support import align_memories_to_chunks
from schemas.events import Relation
from schemas.filters import ScalarEquality
from tests.support.index_harness import NOW, IndexHarness

pytestmark = pytest.mark.anyio
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.booleans(), st.integers(-1, 9), st.integers(0, 12)),
    min_size=1,
    max_size=12,
)
"""Document, whether it is a passage, where it begins and ends."""

PASSAGES = ("Ann: Where did you go?", "Bob: To the sea, with my dog.", "Ann: The weather was awful here.")


async def test_a_passage_is_lifted_by_the_memory_made_of_it(either: IndexHarness) -> None:
    await either.add_document("d", *PASSAGES)
    before = {hit.id: hit.raw_score for hit in await either.hits("Who has been swimming?", threshold=0.0)}
    await either.add_memory("m", "Bob went swimming", "d", start=len(PASSAGES[0]) + 5)
    hits = await either.hits("Who has been swimming?", threshold=0.0, kinds=("chunk",))
    assert hits[0].id == "d-1"
    assert hits[0].raw_score > before["d-1"]


async def test_an_answer_gains_by_the_question_before_it(either: IndexHarness) -> None:
    await either.add_document("alone", "Ben: Yes, five of them.")
    await either.add_document("talk", "Ann: Did you see whales in the bay?", "Ben: Yes, five of them.")
    await either.add_document("long", "Ann: Did you see whales in the bay?", f"Ben: Yes, five of them.{' Well.' * 120}")
    hits = await either.hits("whales in the bay", threshold=0.0, kinds=("chunk",), explain=True)
    gains = {hit.id: (hit.explanation or {}).get("neighbor") for hit in hits}
    assert gains["talk-1"]
    assert gains["alone-0"] is gains["long-1"] is None


async def test_the_named_speaker_comes_first_whatever_the_number_of_results(either: IndexHarness) -> None:
    said = [f"{name}: The ferry to island {number} was late." for number in range(40) for name in ("Ann", "Bob")]
    await either.add_document("talk", *said)
    few = await either.found_ids("What did Bob say about the ferry?", threshold=0.0, limit=2, kinds=("chunk",))
    all_of_them = await either.found_ids("What did Bob say about the ferry?", threshold=0.0, limit=80, kinds=("chunk",))
    assert few == all_of_them[:2]
    assert {said[int(found.removeprefix("talk-"))][:3] for found in all_of_them[:40]} == {"Bob"}


async def test_a_memory_comes_after_the_passage_that_says_the_same(either: IndexHarness) -> None:
    await either.add_document("d", *PASSAGES)
    await either.add_memory("m", "Bob went to the sea with Bob's dog", "d", start=len(PASSAGES[0]) + 5)
    found = await either.found_ids("Did Bob go to the sea with a dog?", threshold=0.0)
    assert found.index("d-1") < found.index("m")


async def test_a_passage_of_several_things_answers_as_well_as_its_best_memory(either: IndexHarness) -> None:
    said = "Bob keeps bees behind the mill."
    await either.add_document("long", f"{said}{' The council met again, and the market was moved to Friday.' * 7}")
    await either.add_memory("of-long", said, "long", start=0)
    hits = await either.hits("Who keeps bees behind the mill?", threshold=0.0, explain=True)
    assert [hit.id for hit in hits] == ["long-0", "of-long"]
    assert (hits[0].explanation or {})["memorySupport"] > 1.0
    assert hits[0].raw_score > hits[1].raw_score


async def test_a_memory_in_other_words_is_found_by_the_short_passage_that_it_was_made_of(either: IndexHarness) -> None:
    said = "Peanuts make my son's throat swell."
    await either.add_document("short", said)
    await either.add_document("long", f"{said}{' He likes all other food.' * 8}")
    for document in ("long", "short"):
        await either.add_memory(f"of-{document}", "User's son can't eat everything", document, start=0)
    hits = await either.hits("Why does my son's throat swell?", threshold=0.0, kinds=("memory",), explain=True)
    assert [hit.id for hit in hits] == ["of-short", "of-long"]
    assert "passage" in (hits[0].explanation or {})
    assert hits[0].raw_score > hits[1].raw_score + 1.0


async def test_a_memory_without_a_place_stands_by_itself(either: IndexHarness) -> None:
    await either.add_document("d", *PASSAGES)
    await either.add_memory("m", "Bob went to the sea with Bob's dog", "d")
    await either.add_memory("n", "Bob went to the sea with Bob's dog", "d", start=10_000)
    raw = {hit.id: hit.raw_score for hit in await either.hits("Did Bob go to the sea?", threshold=0.0)}
    assert raw["m"] == pytest.approx(raw["n"])


async def test_forgotten_memories_lift_nothing(either: IndexHarness) -> None:
    await either.add_document("d", *PASSAGES)
    before = [hit.raw_score for hit in await either.hits("swimming", threshold=0.0, kinds=("chunk",))]
    await either.add_memory("m", "Bob went somewhere", "d", start=len(PASSAGES[0]) + 5, is_latest=False)
    after = [hit.raw_score for hit in await either.hits("swimming", threshold=0.0, kinds=("chunk",))]
    assert after == pytest.approx(before, abs=0.2)


@pytest.mark.parametrize("gone", [{"is_latest": False}, {"forgotten_at": NOW}])
async def test_of_passages_that_answer_alike_the_one_that_still_holds_comes_first(
    either: IndexHarness, gone: dict[str, Any]
) -> None:
    await either.add_document("before", "I live in Paris.", "I have a dog named Rex.")
    await either.add_document("after", "I live in Vienna, in the 7th district.")
    asked = "Where do I live?"
    assert (await either.found_ids(asked))[0] == "before-0", "the shorter passage says it more plainly"
    await either.add_memory("old", "User lives in Paris", "before", start=0, **gone)
    await either.add_memory("dog", "User has a dog named Rex", "before", start=len("I live in Paris."))
    await either.add_memory("new", "User lives in Vienna, in the 7th district", "after", start=0)
    found = await either.found_ids(asked)
    assert found[0] in {"new", "after-0"}
    assert "old" not in found
    assert found.index("after-0") < found.index("before-0"), "what was is found, and comes later"


async def _add_superseded_home(world: IndexHarness, *, version: int = 2, **fields: Any) -> None:
    """Somebody who lived in Paris has moved, and says so without a word of the question."""
    await world.add_document("before", "I live in Paris.")
    await world.add_document("after", "In October I moved to Vienna.", metadata={"new": True})
    await world.add_memory("old", "User lives in Paris", "before", start=0, is_latest=False)
    updates = (Relation(kind="updates", target="old", reason="one at a time"),)
    new = "User moved to Vienna in October 2026"
    await world.add_memory("new", new, "after", start=0, version=version, relations=updates, **fields)


async def test_a_question_that_a_replaced_memory_answers_finds_what_replaced_it(either: IndexHarness) -> None:
    await _add_superseded_home(either)
    asked = "Where do I live?"
    assert await either.found_ids(asked, kinds=("memory",)) == ["new"]
    assert (await either.found_ids(asked, kinds=("chunk",))) == ["after-0", "before-0"]
    found = await either.found_ids(asked)
    assert "old" not in found
    assert found.index("after-0") < found.index("before-0")


async def test_what_replaced_a_number_is_found_though_it_says_none(either: IndexHarness) -> None:
    await either.add_document("before", "My gym costs 40 euros a month.")
    await either.add_memory("old", "User's gym costs 40 euros a month", "before", start=0, is_latest=False)
    await either.add_document("after", "I quit the gym.")
    updates = (Relation(kind="updates", target="old", reason="ended"),)
    await either.add_memory("new", "User quit the gym", "after", start=0, version=2, relations=updates)
    asked = "How much does my gym cost?"
    assert await either.found_ids(asked, kinds=("memory",)) == ["new"]
    assert (await either.found_ids(asked))[0] == "new"


async def test_a_name_that_nothing_has_counts_once_also_where_something_was_replaced(either: IndexHarness) -> None:
    await _add_superseded_home(either)
    hits = await either.hits("Did Harriet move to Vienna?", threshold=0.0, explain=True)
    assert {(hit.explanation or {}).get("unknownName") for hit in hits} == {-UNKNOWN_NAME_PENALTY}


async def test_the_newest_version_is_found_over_all_between(either: IndexHarness) -> None:
    await _add_superseded_home(either, is_latest=False)
    updates = (Relation(kind="updates", target="new", reason="one at a time"),)
    await either.add_memory("newest", "User settled near Graz", "after", version=3, relations=updates)
    assert await either.found_ids("Where do I live?", kinds=("memory",)) == ["newest"]


@pytest.mark.parametrize("gone", [{"forgotten_at": NOW, "is_latest": False}, {"forgotten_at": NOW}])
async def test_what_replaced_an_answer_and_was_forgotten_is_not_brought(
    either: IndexHarness, gone: dict[str, Any]
) -> None:
    await _add_superseded_home(either, **gone)
    assert await either.found_ids("Where do I live?", kinds=("memory",)) == []


async def test_what_replaced_an_answer_is_brought_only_through_the_filter(either: IndexHarness) -> None:
    await _add_superseded_home(either)
    others = ScalarEquality(field="new", operator="neq", value=True)
    assert await either.found_ids("Where do I live?", kinds=("memory",), filter=others) == []


async def test_questions_about_something_else_bring_nothing_that_was_replaced(either: IndexHarness) -> None:
    await _add_superseded_home(either)
    assert await either.found_ids("What does the canteen serve on Fridays?") == []


async def test_many_old_versions_take_no_places_from_what_holds(either: IndexHarness) -> None:
    await either.add_document("d", "Ann keeps a log of her weight.")
    for day in range(SECOND_STAGE_CANDIDATES["memory"] + 2):
        await either.add_memory(f"old{day}", f"Ann's weight is {day + 60} kg", "d", is_latest=False)
    await either.add_memory("lasts", "Ann's brother has a goal for his own weight too", "d")
    assert await either.found_ids("What is Ann's weight?", kinds=("memory",)) == ["lasts"]


async def test_what_is_outdated_takes_nothing_from_what_else_its_passage_says(either: IndexHarness) -> None:
    await either.add_document("d", "I live in Paris and I have a dog named Rex.")
    await either.add_memory("dog", "User has a dog named Rex", "d", start=0)
    before = {hit.id: hit.raw_score for hit in await either.hits("What is my dog called?", threshold=0.0)}
    await either.add_memory("old", "User lives in Paris", "d", start=0, is_latest=False)
    after = {hit.id: hit.raw_score for hit in await either.hits("What is my dog called?", threshold=0.0)}
    assert after["d-0"] == pytest.approx(before["d-0"], abs=0.5)


async def test_a_passage_of_several_things_that_answers_better_than_its_outdated_memory_holds(
    either: IndexHarness,
) -> None:
    said = "I keep a boat in Paris. The boat's keys hang behind the pantry door in Paris."
    await either.add_document("long", f"{said}{' The council met again, and the market was moved to Friday.' * 7}")
    await either.add_document("short", said)
    question = "Where in Paris do the boat's keys hang, behind which pantry door?"
    before = {hit.id: hit.raw_score for hit in await either.hits(question, threshold=0.0)}
    for document in ("long", "short"):
        await either.add_memory(f"of-{document}", "User keeps a boat in Paris", document, start=0, is_latest=False)
    after = {hit.id: hit.raw_score for hit in await either.hits(question, threshold=0.0)}
    assert after["long-0"] == pytest.approx(before["long-0"], abs=0.5)
    assert after["short-0"] < before["short-0"] - 2.0


async def test_a_document_that_speaks_of_it_lifts_its_passages(either: IndexHarness) -> None:
    await either.add_document("one", "The harbour was closed.", "Ships waited in the harbour.", "It took long.")
    await either.add_document("two", "The office was closed.", "People waited in the office.", "It took long.")
    found = await either.found_ids("How long was the harbour closed?", threshold=0.0)
    assert found.index("one-2") < found.index("two-2")


async def test_a_document_lifts_its_passages_less_where_several_things_are_asked_for(
    either: IndexHarness,
) -> None:
    await either.add_document("one", "Which pets?", "Ann talks of pets and pets.", "Pets again.", "We met at noon.")
    await either.add_document("two", "Ann has a dog.", "It rained the whole day.")
    single, several = [
        {hit.id: hit.raw_score for hit in await either.hits(query, threshold=0.0)}["one-3"]
        for query in ("What pet does Ann have?", "What pets does Ann have?")
    ]
    assert several < single


async def test_a_question_about_a_day_finds_what_was_said_then(either: IndexHarness) -> None:
    for name, day in (("one", "2023-02-04"), ("two", "2023-05-03"), ("three", None)):
        await either.add_document(name, "Ann: I had dinner with a friend.", date=day)
    found = await either.found_ids("Who had dinner with Ann on May 3, 2023?", threshold=0.0)
    assert found[0] == "two-0"
    assert (await either.found_ids("Who had dinner with Ann in March 2026?", threshold=0.0))[0] == "three-0"


@settings(max_examples=100, deadline=None)
@given(rows=ROWS)
def test_a_memory_belongs_to_the_last_passage_that_begins_before_it_and_goes_on_there(
    rows: list[tuple[int, bool, int, int]],
) -> None:
    rows = [(document, passage, max(start, 0) if passage else start, end) for document, passage, start, end in rows]
    documents, chunks, starts, ends = zip(*rows, strict=True)
    expected = {}
    for at, (document, passage, start, _) in enumerate(rows):
        before = [
            (begin, end, place)
            for place, (other, is_passage, begin, end) in enumerate(rows)
            if is_passage and other == document and begin <= start
        ]
        if not passage and before and start < max(before)[1]:
            expected[at] = max(before)[2]
    made = align_memories_to_chunks(np.array(documents, np.int32), np.array(chunks), np.array(starts), np.array(ends))
    assert dict(zip(made.memory_positions.tolist(), made.chunk_positions.tolist(), strict=True)) == expected
