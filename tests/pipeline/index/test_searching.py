"""What a namespace finds: the same whether it is held in memory or mapped from files."""

import pytest

from schemas.events import Relation
from schemas.filters import Compare, StringEquals
from tests.pipeline.index.world import NOW, World

pytestmark = pytest.mark.anyio


async def _kitchen(world: World) -> None:
    await world.document("tea", "Alice drinks green tea in the morning.", "She bought a kettle in Kyoto.")
    await world.document(
        "tax", "The annual tax return is due in May.", metadata={"kind": "office", "year": 2026}
    )
    await world.memory("m1", "Alice likes green tea.", "tea")


async def test_the_world_is_what_its_name_says(either: World, request: pytest.FixtureRequest) -> None:
    await _kitchen(either)
    namespace = await either.open()
    assert len(namespace) == 4
    mapped = {one.segment.mapped for one in namespace.chunks.view()}
    mapped |= {one.segment.mapped for one in namespace.memories.view()}
    assert mapped == {"mapped" in request.node.name}


async def test_what_answers_comes_first_and_what_does_not_stays_away(either: World) -> None:
    await _kitchen(either)
    found = await either.found("Who drinks green tea?")
    assert set(found) == {"m1", "tea-0"}
    assert await either.found("quantum chromodynamics of gluons") == []


async def test_similarities_are_within_0_and_1_and_fall(either: World) -> None:
    await _kitchen(either)
    similarities = [hit.similarity for hit in await either.hits("green tea", threshold=0.0)]
    assert len(similarities) == 4
    assert similarities == sorted(similarities, reverse=True)
    assert all(0 <= one <= 1 for one in similarities)


async def test_kinds_and_limit_are_kept(either: World) -> None:
    await _kitchen(either)
    assert await either.found("green tea", kinds=("memory",)) == ["m1"]
    assert await either.found("green tea", kinds=("chunk",)) == ["tea-0"]
    assert len(await either.found("green tea", threshold=0.0, limit=2)) == 2


async def test_a_filter_is_applied_before_ranking(either: World) -> None:
    await _kitchen(either)
    office = StringEquals(field="kind", operator="eq", value="office")
    assert await either.found("green tea", filter=office, threshold=0.0, limit=1) == ["tax-0"]
    other = StringEquals(field="kind", operator="neq", value="office")
    assert set(await either.found("green tea", filter=other, threshold=0.0)) == {"m1", "tea-0", "tea-1"}


async def test_a_document_that_is_gone_takes_its_chunks_and_memories_along(either: World) -> None:
    await _kitchen(either)
    await either.found("green tea")
    await either.remove_document("tea")
    assert await either.found("green tea", threshold=0.0) == ["tax-0"]


async def test_chunks_without_a_document_are_not_seen_until_it_comes(either: World) -> None:
    await either.chunks("late", "Bob plays the cello.")
    assert await either.found("cello") == []
    await either.document("late", "Bob plays the cello.")
    assert await either.found("cello") == ["late-0"]


async def test_a_memory_lives_on_its_first_source_that_is_there(either: World) -> None:
    await either.document("one", metadata={"from": "one"})
    await either.document("two", metadata={"from": "two"})
    await either.memory("m", "Alice plays chess.", "one", "two")
    assert [hit.document.values() for hit in await either.hits("chess")] == [{"from": "one"}]
    await either.remove_document("one")
    assert [hit.document.values() for hit in await either.hits("chess")] == [{"from": "two"}]
    await either.remove_document("two")
    assert await either.hits("chess") == []


async def test_old_versions_are_never_results_and_forgotten_ones_only_when_asked_for(either: World) -> None:
    await either.document("d")
    await either.memory("old", "Alice lives in Oslo.", "d", is_latest=False)
    await either.memory("new", "Alice lives in Rome.", "d")
    await either.memory("gone", "Alice lives with a cat.", "d", forgotten_at=NOW)
    assert set(await either.found("Where does Alice live?", threshold=0.0)) == {"new"}
    hits = await either.hits("Where does Alice live?", threshold=0.0, forgotten=True)
    assert {hit.id: hit.is_latest for hit in hits} == {"new": True, "gone": False}


async def test_changed_text_is_found_by_its_new_words_only(either: World) -> None:
    await either.document("d", "The parrot sings.")
    assert await either.found("parrot") == ["d-0"]
    await either.document("d", "The dolphin jumps.")
    assert await either.found("dolphin") == ["d-0"]
    assert await either.found("parrot") == []


async def test_one_word_names_numbers_and_other_languages_are_found(either: World) -> None:
    await either.document("a", "Invoice 4711 was paid by Zoë Müller.")
    await either.document("b", "私は東京で猫を飼っています。")
    await either.document("c", "Мы живём в Москве.")
    for query, wanted in [
        ("4711", "a-0"),
        ("zoe", "a-0"),
        ("MÜLLER", "a-0"),
        ("猫", "b-0"),
        ("Москве", "c-0"),
    ]:
        assert await either.found(query) == [wanted], query


async def test_strange_queries_are_harmless(either: World) -> None:
    await _kitchen(either)
    for query in ["\0", "what is it", "?!", "x" * 50_000, "tea " * 10_000, "\ud800", '"tea" AND (']:
        await either.found(query)


async def test_a_namespace_sees_only_its_own_spaces(either: World) -> None:
    await _kitchen(either)
    either.own("bob", "bob#0")
    await either.document("bobs", "Bob drinks green tea.", space="bob#0")
    assert await either.found("green tea", "bob") == ["bobs-0"]
    assert "bobs-0" not in await either.found("green tea", threshold=0.0, limit=100)


async def test_relations_are_seen_from_both_ends(either: World) -> None:
    await either.document("d", metadata={"a": 1})
    await either.memory("v1", "Alice works at Acme.", "d", is_latest=False)
    await either.memory(
        "v2", "Alice works at Initech.", "d", relations=(Relation(kind="updates", target="v1"),)
    )
    await either.memory(
        "more", "Alice is a team lead.", "d", relations=(Relation(kind="extends", target="v2"),)
    )
    await either.memory("so", "Alice earns well.", "d", relations=(Relation(kind="derives", target="v2"),))
    namespace = await either.open()
    family = await namespace.relatives(["v2", "more", "so"], None, forgotten=False)
    assert [one.id for one in family["v2"].parents] == ["v1"]
    assert [one.id for one in family["v2"].children] == ["more"]
    assert [one.id for one in family["v2"].siblings] == ["so"]
    assert [(one.id, one.relation) for one in family["more"].siblings] == [("v2", "extends")]
    assert [(one.id, one.relation) for one in family["so"].parents] == [("v2", "derives")]


async def test_relatives_pass_the_filter_or_are_left_out(either: World) -> None:
    await either.document("in", metadata={"a": 1})
    await either.document("out", metadata={"a": 2})
    await either.memory("v1", "Alice works at Acme.", "out")
    await either.memory(
        "v2", "Alice works at Initech.", "in", relations=(Relation(kind="updates", target="v1"),)
    )
    await either.memory("f", "Alice works late.", "in", relations=(Relation(kind="extends", target="v2"),))
    await either.change_memory("f", forgotten_at=NOW)
    one = Compare(field="a", operator="lt", value=2)
    namespace = await either.open()
    family = (await namespace.relatives(["v2"], one, forgotten=False))["v2"]
    assert (family.parents, family.children, family.siblings) == ([], [], [])
    family = (await namespace.relatives(["v2"], None, forgotten=True))["v2"]
    assert [hit.id for hit in family.parents + family.children] == ["v1", "f"]


async def test_the_nearest_memories_are_the_current_ones(either: World) -> None:
    await either.document("d")
    await either.memory("cat", "Alice has a cat.", "d")
    await either.memory("kitten", "Alice has a kitten.", "d")
    await either.memory("old", "Alice has a cat now.", "d", is_latest=False)
    await either.memory("tax", "Taxes are due in May.", "d")
    vector = either.embedder.embed(["Alice has a cat."])[0]
    near = await either.cache.nearest("alice", vector, 2)
    assert [row.id for row, _ in near] == ["cat", "kitten"]
    assert near[0][1] == pytest.approx(1.0, abs=1e-5)
    assert await either.cache.nearest("nobody", vector, 2) == []
