"""Facts that a language model finds: what it is told, and what becomes of its answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pytest
from pydantic import BaseModel

from pipeline.errors import AwayError, RetryableError
from pipeline.memory.asking import Memories
from pipeline.memory.by_model import AGAIN_SECONDS, OVERHEAD_TOKENS, ByModel
from pipeline.memory.extraction import Delay, Found, stated
from pipeline.memory.nearby import LARGEST, NEAR, NearbyMemories
from pipeline.memory.writing import Work
from pipeline.ports import Reply, Spent, UnusableError
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow, OrganizationRow, Vector
from schemas.topics import USAGE_RECORDED
from tests.fakes import (
    EPOCH,
    FakeCatalog,
    FakeDocuments,
    FixedClock,
    HashingEmbedder,
    RecordingPublisher,
    hashed_terms,
)
from tests.pipeline.inference.model import memory

pytestmark = pytest.mark.anyio
A = TypeVar("A", bound=BaseModel)
NOWHERE = np.zeros(1, np.float32)
COST = Spent(calls=1, input_tokens=100, output_tokens=20, seconds=0.5)


@dataclass
class Model:
    """Answers what it was told to, or fails so; the last answer stays."""

    answers: list[list[dict[str, object]] | Exception]
    name: str = "fake"
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def ask(self, instructions: str, question: str, shape: type[A]) -> Reply[A]:
        self.asked.append((instructions, question))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Reply(shape.model_validate_json(json.dumps({"memories": answer})), COST)


class World:
    """The namespace `alice`, and what is known near to whatever is asked."""

    def __init__(self, *answers: list[dict[str, object]] | Exception, tokens: int = 2000) -> None:
        self.catalog = FakeCatalog()
        self.owner = self.catalog.create("alice")
        self.model = Model(list(answers))
        self.publisher = RecordingPublisher()
        self.told: list[str] = []
        self.near: list[MemoryRow] | Exception = []
        self.extraction = ByModel(
            model=self.model,
            catalog=self.catalog,
            nearby=self.nearby,
            publisher=self.publisher,
            clock=FixedClock(),
            input_tokens=tokens + OVERHEAD_TOKENS,
            told=lambda outcome, _: self.told.append(outcome),
        )

    async def nearby(self, _: NamespaceRow, __: Sequence[Work]) -> list[MemoryRow]:
        if isinstance(self.near, Exception):
            raise self.near
        return self.near

    async def facts(self, *works: Work) -> Sequence[Found]:
        return await self.extraction.facts(self.owner, works)


def work(text: str, name: str = "d", **fields: object) -> Work:
    return replace(Work("alice#0", name, 1, EPOCH, text), **fields)  # type: ignore[arg-type]  # tests name fields


def known(id_: str, text: str, vector: Vector, *sources: str) -> MemoryRow:
    return MemoryRow(id_, "alice#0", text, sources, 0, EPOCH, EPOCH, vector, hashed_terms(text))


def texts(found: Found) -> list[str]:
    assert not isinstance(found, Delay)
    return [one.text for one in found]


async def test_facts_go_to_their_documents_with_their_place_in_the_text() -> None:
    world = World(
        [
            memory(2, "Bob plays chess", quote="plays chess"),
            memory(1, "Ana  lives\nin Rome", quote="lives in Rome", lasting=False, dates=["2024-05", "soon"]),
            memory(1, "Ana is well", quote="not to be found"),
            memory(7, "Nobody said this"),
        ]
    )
    first, second = await world.facts(work("Ana lives in Rome."), work("Bob plays chess.", "e"))
    assert (texts(first), texts(second)) == (["Ana lives in Rome", "Ana is well"], ["Bob plays chess"])
    assert isinstance(first, list)
    rome, well = first
    assert (rome.start, rome.end, rome.is_static) == (4, 17, False)
    assert rome.dates == ("2024-05",)
    assert rome.slots, "so it is compared with other facts like those that rules find"
    assert (well.start, well.end, well.is_static) == (None, None, True)


async def test_the_model_knows_the_contexts_the_dates_and_what_is_known() -> None:
    world = World([])
    world.catalog.org = OrganizationRow(context="We build boats.")
    world.owner = replace(world.owner, supporting_context="Chats of one family.")
    world.near = [known("m1", "Ana lives\nin Rome", NOWHERE)]
    await world.facts(
        work("It is sunny.", date="2024-05-06", supporting_context="Ana writes."), work("It rains.", "e")
    )
    [(instructions, question)] = world.model.asked
    assert "We build boats." in instructions
    assert "Chats of one family." in instructions
    assert "K1: Ana lives in Rome\n" in question
    assert '<document number="1" date="2024-05-06">\n<about>Ana writes.</about>\nIt is sunny.' in question
    assert '<document number="2" date="2026-01-01">\nIt rains.' in question


async def test_a_conclusion_names_the_known_facts_it_needs_or_is_none() -> None:
    world = World(
        [
            memory(1, "Ana commutes", inferred=True, follows_from=["K1", "K2", "K9", "K1"]),
            memory(1, "Ana is rich", inferred=True, follows_from=["K9"]),
        ]
    )
    world.near = [known("m1", "Ana lives in Rome", NOWHERE), known("m2", "b", NOWHERE)]
    [found] = await world.facts(work("Ana works in Ostia."))
    assert isinstance(found, list)
    commutes, rich = found
    assert [(one.kind, one.target) for one in commutes.relations] == [("derives", "m1"), ("derives", "m2")]
    assert (commutes.is_inference, rich.is_inference, rich.relations) == (True, False, ())


@pytest.mark.parametrize("answer", ["no shape", "refused"])
async def test_what_it_gives_no_answer_to_the_rules_read(answer: str) -> None:
    text = "I live in Berlin. I play the cello."
    world = World(UnusableError(answer, COST))
    assert await world.facts(work(text)) == [stated(work(text))]
    [usage] = world.publisher.events(USAGE_RECORDED)
    assert (usage.outcome, usage.input_tokens, world.told) == ("unusable", 100, ["unusable"])


async def test_while_it_is_away_documents_wait_and_nothing_is_spent() -> None:
    world = World(AwayError("it is away", 7.0))
    assert await world.facts(work("I live in Berlin.")) == [Delay("it is away", 7.0)]
    assert world.publisher.events(USAGE_RECORDED) == []
    assert world.told == ["away"]


async def test_where_neighbours_cannot_be_looked_up_documents_wait() -> None:
    world = World([])
    world.near = RetryableError("the embedder is away")
    assert await world.facts(work("I live in Berlin.")) == [Delay("the embedder is away", AGAIN_SECONDS)]


async def test_each_question_is_accounted_for() -> None:
    world = World([memory(1, "Ana lives in Rome")])
    await world.facts(work("Ana lives in Rome."), work("Bob lives in Oslo.", "e"))
    [usage] = world.publisher.events(USAGE_RECORDED)
    assert (usage.space, usage.model, usage.outcome, usage.documents) == ("alice#0", "fake", "formed", 2)
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.seconds) == (1, 100, 20, 0.5)


async def test_a_long_document_is_asked_about_in_parts_and_says_a_thing_once() -> None:
    text = "Ana plays the cello.\n" * 500
    world = World([memory(1, "Ana plays the cello")])
    [found] = await world.facts(work(text))
    assert len(world.model.asked) > 1
    assert texts(found) == ["Ana plays the cello"]


async def test_one_part_that_has_to_wait_lets_its_whole_document_wait() -> None:
    text = "Ana plays the cello.\n" * 500
    world = World([memory(1, "Ana plays the cello")], AwayError("it is away", 7.0))
    assert await world.facts(work(text)) == [Delay("it is away", 7.0)]


def test_the_shape_that_is_asked_for_names_every_member() -> None:
    described = Memories.model_json_schema()
    for shape in (described, *described["$defs"].values()):
        assert shape["additionalProperties"] is False
        assert set(shape["required"]) == set(shape["properties"])


class Index:
    """What is nearest to anything."""

    def __init__(self, *near: tuple[MemoryRow, float]) -> None:
        self.near = list(near)

    async def nearest(self, namespace: str, vector: Vector, limit: int) -> list[tuple[MemoryRow, float]]:
        return self.near[:limit]


def few(spaces: Sequence[str]) -> dict[str, int]:
    return dict.fromkeys(spaces, 100)


async def test_a_namespace_that_knows_too_much_is_not_looked_through() -> None:
    embedder = HashingEmbedder()
    near = (known("m", "x", NOWHERE, "a"), 0.9)
    nearby = NearbyMemories(Index(near), embedder, FakeDocuments(), lambda _: {"alice#0": LARGEST + 1})
    assert await nearby(FakeCatalog().create("alice"), [work("text")]) == []


async def test_neighbours_are_of_the_group_and_of_other_documents() -> None:
    embedder, documents = HashingEmbedder(), FakeDocuments()
    [vector] = await embedder.documents(["x"])
    for key, trip in (("a", "x"), ("b", "y"), ("d", "x")):
        documents.groups[key] = [DocumentRow(key, "alice#0", key, 0, 0, EPOCH, EPOCH, group={"trip": trip})]
    near = [(known(f"m{key}", key, vector, key), 0.5) for key in ("a", "b", "d")]
    nearby = NearbyMemories(Index(*near), embedder, documents, few)
    owner = FakeCatalog().create("alice")
    grouped = await nearby(owner, [work("text", group={"trip": "x"})])
    assert [row.id for row in grouped] == ["ma"]
    assert [row.id for row in await nearby(owner, [work("text")])] == ["ma", "mb"]


async def test_so_many_neighbours_and_the_nearest_first() -> None:
    embedder = HashingEmbedder()
    [vector] = await embedder.documents(["x"])
    near = [(known(f"m{number:02}", "x", vector, "a"), number / 100) for number in range(NEAR + 5)]
    nearby = NearbyMemories(Index(*near), embedder, FakeDocuments(), few)
    found = await nearby(FakeCatalog().create("alice"), [work("one"), work("two", "e")])
    assert [row.id for row in found] == [row.id for row, _ in sorted(near, key=lambda one: -one[1])][:NEAR]
