"""Searches of a namespace: the same whether it is held in memory or mapped from files."""

import pytest

from schemas.events import Relation
from schemas.filters import NumericComparison, StringEquality
from tests.support.index_harness import NOW, IndexHarness, force_spilled_segments

pytestmark = pytest.mark.anyio


async def _fill_with_drinks(world: IndexHarness) -> None:
    await world.add_document("tea", "Alice drinks green tea in the morning.", "She bought a kettle in Kyoto.")
    await world.add_document("tax", "The annual tax return is due in May.", metadata={"kind": "office", "year": 2026})
    await world.add_memory("m1", "Alice likes green tea.", "tea")


async def test_the_world_is_what_its_name_says(either: IndexHarness, request: pytest.FixtureRequest) -> None:
    await _fill_with_drinks(either)
    namespace = await either.open_index()
    assert len(namespace) == 4
    mapped = {item.segment.is_spilled for item in namespace.chunks.snapshot()}
    mapped |= {item.segment.is_spilled for item in namespace.memories.snapshot()}
    assert mapped == {"mapped" in request.node.name}


async def test_what_answers_comes_first_and_what_does_not_stays_away(either: IndexHarness) -> None:
    await _fill_with_drinks(either)
    found = await either.found_ids("Who drinks green tea?")
    assert set(found) == {"m1", "tea-0"}
    assert await either.found_ids("quantum chromodynamics of gluons") == []


async def test_similarities_are_within_0_and_1_and_fall(either: IndexHarness) -> None:
    await _fill_with_drinks(either)
    similarities = [hit.similarity for hit in await either.hits("green tea", threshold=0.0)]
    assert len(similarities) == 4
    assert similarities == sorted(similarities, reverse=True)
    assert all(0 <= item <= 1 for item in similarities)


async def test_kinds_and_limit_are_kept(either: IndexHarness) -> None:
    await _fill_with_drinks(either)
    assert await either.found_ids("green tea", kinds=("memory",)) == ["m1"]
    assert await either.found_ids("green tea", kinds=("chunk",)) == ["tea-0"]
    assert len(await either.found_ids("green tea", threshold=0.0, limit=2)) == 2


async def test_a_filter_is_applied_before_ranking(either: IndexHarness) -> None:
    await _fill_with_drinks(either)
    office = StringEquality(field="kind", operator="eq", value="office")
    assert await either.found_ids("green tea", filter=office, threshold=0.0, limit=1) == ["tax-0"]
    other = StringEquality(field="kind", operator="neq", value="office")
    assert set(await either.found_ids("green tea", filter=other, threshold=0.0)) == {"m1", "tea-0", "tea-1"}


async def test_a_document_that_is_gone_takes_its_chunks_and_memories_along(either: IndexHarness) -> None:
    await _fill_with_drinks(either)
    await either.found_ids("green tea")
    await either.remove_document("tea")
    assert await either.found_ids("green tea", threshold=0.0) == ["tax-0"]


async def test_chunks_without_a_document_are_not_seen_until_it_comes(either: IndexHarness) -> None:
    await either.set_chunks("late", "Bob plays the cello.")
    assert await either.found_ids("cello") == []
    await either.add_document("late", "Bob plays the cello.")
    assert await either.found_ids("cello") == ["late-0"]


async def test_a_memory_lives_on_its_first_source_that_is_there(either: IndexHarness) -> None:
    await either.add_document("one", metadata={"from": "one"})
    await either.add_document("two", metadata={"from": "two"})
    await either.add_memory("m", "Alice plays chess.", "one", "two")
    assert [hit.document.parsed_metadata() for hit in await either.hits("chess")] == [{"from": "one"}]
    await either.remove_document("one")
    assert [hit.document.parsed_metadata() for hit in await either.hits("chess")] == [{"from": "two"}]
    await either.remove_document("two")
    assert await either.hits("chess") == []


async def test_old_versions_are_never_results_and_forgotten_ones_only_when_asked_for(
    either: IndexHarness,
) -> None:
    await either.add_document("d")
    await either.add_memory("old", "Alice lives in Oslo.", "d", is_latest=False)
    await either.add_memory("new", "Alice lives in Rome.", "d")
    await either.add_memory("gone", "Alice lives with a cat.", "d", forgotten_at=NOW)
    assert set(await either.found_ids("Where does Alice live?", threshold=0.0)) == {"new"}
    hits = await either.hits("Where does Alice live?", threshold=0.0, include_forgotten=True)
    assert {hit.id: hit.is_latest for hit in hits} == {"new": True, "gone": False}


async def test_changed_text_is_found_by_its_new_words_only(either: IndexHarness) -> None:
    await either.add_document("d", "The parrot sings.")
    assert await either.found_ids("parrot") == ["d-0"]
    await either.add_document("d", "The dolphin jumps.")
    assert await either.found_ids("dolphin") == ["d-0"]
    assert await either.found_ids("parrot") == []


async def test_one_word_names_numbers_and_other_languages_are_found(either: IndexHarness) -> None:
    await either.add_document("a", "Invoice 4711 was paid by Zoë Müller.")
    await either.add_document("b", "私は東京で猫を飼っています。")
    await either.add_document("c", "Мы живём в Москве.")
    for query, wanted in [
        ("4711", "a-0"),
        ("zoe", "a-0"),
        ("MÜLLER", "a-0"),
        ("猫", "b-0"),
        ("Москве", "c-0"),
    ]:
        assert await either.found_ids(query) == [wanted], query


async def test_strange_queries_are_harmless(either: IndexHarness) -> None:
    await _fill_with_drinks(either)
    for query in ["\0", "what is it", "?!", "x" * 50_000, "tea " * 10_000, "\ud800", '"tea" AND (']:
        await either.found_ids(query)


async def test_a_namespace_sees_only_its_own_incarnations(either: IndexHarness) -> None:
    await _fill_with_drinks(either)
    either.assign_incarnations("bob", "bob#0")
    await either.add_document("bobs", "Bob drinks green tea.", incarnation="bob#0")
    assert await either.found_ids("green tea", "bob") == ["bobs-0"]
    assert "bobs-0" not in await either.found_ids("green tea", threshold=0.0, limit=100)


async def test_relations_are_seen_from_both_ends(either: IndexHarness) -> None:
    await either.add_document("d", metadata={"a": 1})
    await either.add_memory("v1", "Alice works at Acme.", "d", is_latest=False)
    await either.add_memory("v2", "Alice works at Initech.", "d", relations=(Relation(kind="updates", target="v1"),))
    await either.add_memory("more", "Alice is a team lead.", "d", relations=(Relation(kind="extends", target="v2"),))
    await either.add_memory("so", "Alice earns well.", "d", relations=(Relation(kind="derives", target="v2"),))
    namespace = await either.open_index()
    family = await namespace.related_memories(["v2", "more", "so"], None, include_forgotten=False)
    assert [item.id for item in family["v2"].parents] == ["v1"]
    assert [item.id for item in family["v2"].children] == ["more"]
    assert [item.id for item in family["v2"].siblings] == ["so"]
    assert [(item.id, item.relation) for item in family["more"].siblings] == [("v2", "extends")]
    assert [(item.id, item.relation) for item in family["so"].parents] == [("v2", "derives")]


async def test_relatives_pass_the_filter_or_are_left_out(either: IndexHarness) -> None:
    await either.add_document("in", metadata={"a": 1})
    await either.add_document("out", metadata={"a": 2})
    await either.add_memory("v1", "Alice works at Acme.", "out")
    await either.add_memory("v2", "Alice works at Initech.", "in", relations=(Relation(kind="updates", target="v1"),))
    await either.add_memory("f", "Alice works late.", "in", relations=(Relation(kind="extends", target="v2"),))
    await either.change_memory("f", forgotten_at=NOW)
    condition = NumericComparison(field="a", operator="lt", value=2)
    namespace = await either.open_index()
    family = (await namespace.related_memories(["v2"], condition, include_forgotten=False))["v2"]
    assert (family.parents, family.children, family.siblings) == ([], [], [])
    family = (await namespace.related_memories(["v2"], None, include_forgotten=True))["v2"]
    assert [hit.id for hit in family.parents + family.children] == ["v1", "f"]


async def test_the_nearest_memories_are_the_current_ones(either: IndexHarness) -> None:
    await either.add_document("d")
    await either.add_memory("cat", "Alice has a cat.", "d")
    await either.add_memory("kitten", "Alice has a kitten.", "d")
    await either.add_memory("old", "Alice has a cat now.", "d", is_latest=False)
    await either.add_memory("tax", "Taxes are due in May.", "d")
    vector = (await either.embedder.embed_documents(["Alice has a cat."]))[0]
    near = await either.cache.nearest("alice", vector, 2)
    assert [row.id for row, _ in near] == ["cat", "kitten"]
    assert near[0][1] == pytest.approx(1.0, abs=1e-2)  # vectors are stored with a byte for each number
    assert await either.cache.nearest("nobody", vector, 2) == []


async def test_a_question_that_names_the_user_is_asked_as_the_user_would(either: IndexHarness) -> None:
    await either.add_document("talk", "Hello.")
    await either.add_memory("name", "User's name is Alice", "talk")
    await either.add_memory("home", "User lives in Lisbon with a cat and a dog", "talk")
    assert (await either.found_ids("Where does Alice live?"))[0] == "home"
    assert (await either.found_ids("Who is Alice?"))[0] == "name"


async def test_a_forgotten_name_is_a_name_like_any_other(either: IndexHarness) -> None:
    await either.add_document("talk", "Hello.")
    await either.add_memory("name", "User's name is Alice", "talk", forgotten_at=NOW)
    await either.add_memory("other", "Alice runs the bakery", "talk")
    await either.add_memory("home", "User lives in Lisbon with a cat and a dog", "talk")
    assert (await either.found_ids("Where does Alice live?"))[0] == "other"


async def test_hits_of_a_large_segment_have_the_same_vectors(
    world: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _fill_with_drinks(world)
    small = await world.hits("green tea")
    force_spilled_segments(monkeypatch)
    world.cache._entries.clear()
    large = await world.hits("green tea")
    for before, after in zip(small, large, strict=True):
        assert (before.id, before.similarity) == (after.id, after.similarity)
        assert before.vector.tobytes() == after.vector.tobytes()
