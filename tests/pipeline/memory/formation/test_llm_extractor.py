"""Facts that a language model finds: what it is told, and what becomes of its answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pytest
from pydantic import BaseModel

from pipeline.errors import EndpointUnavailableError, RetryableError
from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.extraction_prompt import ExtractedMemories
from pipeline.memory.formation.fact_extractor import ExtractionDelay, ExtractionResult, extract_job_facts
from pipeline.memory.formation.llm_extractor import LOOKUP_RETRY_SECONDS, OVERHEAD_TOKENS, LlmExtractor
from pipeline.memory.formation.nearest_memories import (
    MAX_NEAREST_MEMORIES,
    MAX_SEARCHED_NAMESPACE_MEMORIES,
    NearestMemoryFinder,
)
from pipeline.ports import ModelReply, TokenUsage, UnusableReplyError
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow, OrganizationRow, Vector
from schemas.topics import USAGE_RECORDED
from tests.support.chat_endpoint_double import memory
from tests.support.fakes import (
    EPOCH,
    FakeCatalog,
    FakeDocumentTable,
    FixedClock,
    HashingEmbedder,
    RecordingPublisher,
    hashed_terms,
)

pytestmark = pytest.mark.anyio
A = TypeVar("A", bound=BaseModel)
ZERO_VECTOR = np.zeros(1, np.float32)
COST = TokenUsage(calls=1, input_tokens=100, output_tokens=20, seconds=0.5)


@dataclass
class FakeModel:
    """A model that gives prepared answers or failures; the last one repeats."""

    answers: list[list[dict[str, object]] | Exception]
    name: str = "fake"
    prompts: list[tuple[str, str]] = field(default_factory=list)

    async def generate(self, instructions: str, prompt: str, schema: type[A]) -> ModelReply[A]:
        self.prompts.append((instructions, prompt))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return ModelReply(schema.model_validate_json(json.dumps({"memories": answer})), COST)


class LlmExtractorHarness:
    """An extractor for the namespace `alice` with prepared neighbors."""

    def __init__(self, *answers: list[dict[str, object]] | Exception, tokens: int = 2000) -> None:
        self.catalog = FakeCatalog()
        self.namespace = self.catalog.create("alice")
        self.model = FakeModel(list(answers))
        self.publisher = RecordingPublisher()
        self.outcomes: list[str] = []
        self.neighbors: list[MemoryRow] | Exception = []
        self.extractor = LlmExtractor(
            model=self.model,
            catalog=self.catalog,
            nearest_memories=self.nearest_memories,
            publisher=self.publisher,
            clock=FixedClock(),
            input_tokens=tokens + OVERHEAD_TOKENS,
            on_outcome=lambda outcome, _, __: self.outcomes.append(outcome),
        )

    async def nearest_memories(self, _: NamespaceRow, __: Sequence[ExtractionJob]) -> list[MemoryRow]:
        if isinstance(self.neighbors, Exception):
            raise self.neighbors
        return self.neighbors

    async def extract(self, *jobs: ExtractionJob) -> Sequence[ExtractionResult]:
        return await self.extractor.extract(self.namespace, jobs)


def job(text: str, name: str = "d", **fields: object) -> ExtractionJob:
    return replace(ExtractionJob("alice#0", name, 1, EPOCH, text), **fields)  # type: ignore[arg-type]  # tests name fields


def known(id_: str, text: str, vector: Vector, *sources: str) -> MemoryRow:
    return MemoryRow(id_, "alice#0", text, sources, 0, EPOCH, EPOCH, vector, hashed_terms(text))


def texts(found: ExtractionResult) -> list[str]:
    assert not isinstance(found, ExtractionDelay)
    return [memory.text for memory in found]


async def test_facts_are_assigned_to_their_documents_with_text_spans() -> None:
    world = LlmExtractorHarness(
        [
            memory(2, "Bob plays chess", quote="plays chess"),
            memory(1, "Ana  lives\nin Rome", quote="lives in Rome", lasting=False, dates=["2024-05", "soon"]),
            memory(1, "Ana is well", quote="not to be found"),
            memory(7, "Nobody said this"),
        ]
    )
    first, second = await world.extract(job("Ana lives in Rome."), job("Bob plays chess.", "e"))
    assert (texts(first), texts(second)) == (["Ana lives in Rome"], ["Bob plays chess"])
    assert isinstance(first, list)
    [rome] = first
    assert (rome.start, rome.end, rome.is_static) == (4, 17, False)
    assert rome.dates == ("2024-05",)
    assert rome.attributes, "so it is compared with other facts like those that rules find"


async def test_the_prompt_contains_contexts_dates_and_known_memories() -> None:
    world = LlmExtractorHarness([])
    world.catalog.organization_row = OrganizationRow(context="We build boats.")
    world.namespace = replace(world.namespace, supporting_context="Chats of one family.")
    world.neighbors = [known("m1", "Ana lives\nin Rome", ZERO_VECTOR)]
    await world.extract(job("It is sunny.", date="2024-05-06", supporting_context="Ana writes."), job("It rains.", "e"))
    [(instructions, question)] = world.model.prompts
    assert "We build boats." in instructions
    assert "Chats of one family." in instructions
    assert "K1: Ana lives in Rome\n" in question
    assert '<document number="1" date="2024-05-06">\n<about>Ana writes.</about>\nIt is sunny.' in question
    assert '<document number="2" date="2026-01-01">\nIt rains.' in question


async def test_an_inference_without_known_premises_is_a_stated_fact() -> None:
    world = LlmExtractorHarness(
        [
            memory(1, "Ana commutes", inferred=True, follows_from=["K1", "K2", "K9", "K1"]),
            memory(1, "Ana works in Ostia", inferred=True, follows_from=["K9"]),
            memory(1, "Ana is rich", inferred=True, follows_from=["K9"]),
        ]
    )
    world.neighbors = [known("m1", "Ana lives in Rome", ZERO_VECTOR), known("m2", "b", ZERO_VECTOR)]
    [facts] = await world.extract(job("Ana works in Ostia."))
    assert isinstance(facts, list)
    commutes, stated = facts
    assert [(relation.kind, relation.target) for relation in commutes.relations] == [
        ("derives", "m1"),
        ("derives", "m2"),
    ]
    assert (commutes.is_inference, stated.is_inference, stated.relations) == (True, False, ())


@pytest.mark.parametrize("answer", ["no shape", "refused"])
async def test_rules_extract_when_the_answer_is_unusable(answer: str) -> None:
    text = "I live in Berlin. I play the cello."
    world = LlmExtractorHarness(UnusableReplyError(answer, COST))
    assert await world.extract(job(text)) == [extract_job_facts(job(text))]
    [usage] = world.publisher.events(USAGE_RECORDED)
    assert (usage.outcome, usage.input_tokens, world.outcomes) == ("unusable", 100, ["unusable"])


async def test_documents_wait_without_usage_while_the_endpoint_is_unavailable() -> None:
    world = LlmExtractorHarness(EndpointUnavailableError("it is away", 7.0))
    assert await world.extract(job("I live in Berlin.")) == [ExtractionDelay("it is away", 7.0)]
    assert world.publisher.events(USAGE_RECORDED) == []
    assert world.outcomes == ["unavailable"]


async def test_documents_wait_when_neighbors_cannot_be_looked_up() -> None:
    world = LlmExtractorHarness([])
    world.neighbors = RetryableError("the embedder is away")
    assert await world.extract(job("I live in Berlin.")) == [
        ExtractionDelay("the embedder is away", LOOKUP_RETRY_SECONDS)
    ]


async def test_usage_is_recorded_for_each_request() -> None:
    world = LlmExtractorHarness([memory(1, "Ana lives in Rome")])
    await world.extract(job("Ana lives in Rome."), job("Bob lives in Oslo.", "e"))
    [usage] = world.publisher.events(USAGE_RECORDED)
    assert (usage.incarnation, usage.model, usage.outcome, usage.documents) == (
        "alice#0",
        "fake",
        "formed",
        2,
    )
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.seconds) == (1, 100, 20, 0.5)


async def test_a_long_document_is_split_and_its_facts_are_deduplicated() -> None:
    text = "Ana plays the cello.\n" * 500
    world = LlmExtractorHarness([memory(1, "Ana plays the cello")])
    [facts] = await world.extract(job(text))
    assert len(world.model.prompts) > 1
    assert texts(facts) == ["Ana plays the cello"]


async def test_a_delayed_part_delays_its_whole_document() -> None:
    text = "Ana plays the cello.\n" * 500
    world = LlmExtractorHarness([memory(1, "Ana plays the cello")], EndpointUnavailableError("it is away", 7.0))
    assert await world.extract(job(text)) == [ExtractionDelay("it is away", 7.0)]


def test_the_answer_schema_requires_every_property() -> None:
    described = ExtractedMemories.model_json_schema()
    for shape in (described, *described["$defs"].values()):
        assert shape["additionalProperties"] is False
        assert set(shape["required"]) == set(shape["properties"])


class FakeMemoryIndex:
    """An index that returns prepared nearest memories for any vector."""

    def __init__(self, *near: tuple[MemoryRow, float]) -> None:
        self.neighbors = list(near)

    async def nearest(self, namespace: str, vector: Vector, limit: int) -> list[tuple[MemoryRow, float]]:
        return self.neighbors[:limit]


def count_hundred(incarnations: Sequence[str]) -> dict[str, int]:
    return dict.fromkeys(incarnations, 100)


async def test_too_large_namespaces_are_not_searched() -> None:
    embedder = HashingEmbedder()
    near = (known("m", "x", ZERO_VECTOR, "a"), 0.9)
    nearby = NearestMemoryFinder(
        FakeMemoryIndex(near),
        embedder,
        FakeDocumentTable(),
        lambda _: {"alice#0": MAX_SEARCHED_NAMESPACE_MEMORIES + 1},
    )
    assert await nearby(FakeCatalog().create("alice"), [job("text")]) == []


async def test_neighbors_belong_to_the_group_and_to_other_documents() -> None:
    embedder, documents = HashingEmbedder(), FakeDocumentTable()
    [vector] = await embedder.embed_documents(["x"])
    for key, trip in (("a", "x"), ("b", "y"), ("d", "x")):
        documents.rows_by_key[key] = [
            DocumentRow(key, "alice#0", key, 0, 0, EPOCH, EPOCH, group_metadata={"trip": trip})
        ]
    near = [(known(f"m{key}", key, vector, key), 0.5) for key in ("a", "b", "d")]
    nearby = NearestMemoryFinder(FakeMemoryIndex(*near), embedder, documents, count_hundred)
    owner = FakeCatalog().create("alice")
    grouped = await nearby(owner, [job("text", group={"trip": "x"})])
    assert [row.id for row in grouped] == ["ma"]
    assert [row.id for row in await nearby(owner, [job("text")])] == ["ma", "mb"]


async def test_neighbors_are_limited_and_ordered_nearest_first() -> None:
    embedder = HashingEmbedder()
    [vector] = await embedder.embed_documents(["x"])
    near = [(known(f"m{number:02}", "x", vector, "a"), number / 100) for number in range(MAX_NEAREST_MEMORIES + 5)]
    nearby = NearestMemoryFinder(FakeMemoryIndex(*near), embedder, FakeDocumentTable(), count_hundred)
    found = await nearby(FakeCatalog().create("alice"), [job("one"), job("two", "e")])
    assert [row.id for row in found] == [row.id for row, _ in sorted(near, key=lambda pair: -pair[1])][
        :MAX_NEAREST_MEMORIES
    ]
