"""Facts find the buckets they belong in, with an embedder and without."""

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from bench.datasets import buckets
from bench.memory.buckets import sorted_facts
from pipeline.columns import memory_columns
from pipeline.models import open_embedder
from pipeline.packed_vectors import unpack
from pipeline.profile.bucket_classifier import DEFAULT_BUCKETS, build_classifier, effective_buckets
from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from pipeline.text.analyzer import hash_terms
from tests.support.fakes import EPOCH

pytestmark = pytest.mark.anyio

SETS = json.loads((Path(__file__).parents[2] / "data" / "buckets.json").read_text("utf-8"))["sets"]
"""Facts with the buckets they belong in. The rules were chosen on `dev`; `locked` was written before them."""


@pytest.mark.parametrize(
    ("kind", "name", "precision", "recall"),
    [
        ("wordllama", "dev", 0.7, 0.6),
        ("wordllama", "locked", 0.7, 0.5),
        ("e5-encoder", "dev", 0.75, 0.8),
        ("e5-encoder", "locked", 0.75, 0.8),
    ],
)
async def test_facts_are_in_the_buckets_that_describe_them(
    kind: Literal["wordllama", "e5-encoder"], name: str, precision: float, recall: float
) -> None:
    embedder = open_embedder(kind)
    facts = [text for text, _ in SETS[name]["facts"]]
    classifier = await build_classifier(embedder, SETS[name]["buckets"])
    membership = classifier.classify_facts(await embedder.embed_documents(facts), [hash_terms(text) for text in facts])
    right = np.array([[bucket in expected for bucket in classifier.names] for _, expected in SETS[name]["facts"]])
    hits = np.count_nonzero(membership & right)
    assert hits / np.count_nonzero(membership) >= precision
    assert hits / np.count_nonzero(right) >= recall


@pytest.mark.parametrize("wording", ["user", "frames", "instructions"])
async def test_a_description_that_speaks_of_the_user_draws_no_other_facts(wording: str) -> None:
    data = json.loads((Path(buckets.__file__).parent / "facts.json").read_text("utf-8"))
    embedder = open_embedder("e5-encoder")
    texts = [text for text, _ in data["locked"][::5]] + data["locked_none"][:5]
    classifier = await build_classifier(embedder, data["wordings"][wording])
    membership = classifier.classify_facts(await embedder.embed_documents(texts), [hash_terms(text) for text in texts])
    expected = [bucket for _, bucket in data["locked"][::5]]
    right = sum(membership[at][classifier.names.index(bucket)] for at, bucket in enumerate(expected))
    assert right >= 7
    assert np.count_nonzero(membership) <= 14


async def test_messages_in_seven_languages_are_in_the_buckets_that_describe_them_in_any_wording() -> None:
    async for found in sorted_facts(open_embedder("e5-encoder"), "spoken"):
        assert found.right >= 43, found
        assert found.right >= 0.9 * found.among_own, found


async def test_a_topic_that_two_descriptions_touch_belongs_to_the_one_that_names_it() -> None:
    embedder = open_embedder("e5-encoder")
    classifier = await build_classifier(embedder, {"home": "home, household", "people": "relationships, family"})
    fact = "User: mon frère est pompier à Nantes"
    membership = classifier.classify_facts(await embedder.embed_documents([fact]), [hash_terms(fact)])
    assert membership.tolist() == [[False, True]]


async def test_a_fact_without_a_vector_is_in_no_bucket_beside_others() -> None:
    embedder = open_embedder("wordllama")
    classifier = await build_classifier(embedder, SETS["dev"]["buckets"])
    vectors = [*await embedder.embed_documents(["Ana likes tea"]), np.zeros(embedder.dimensions, np.float32)]
    assert not classifier.classify_facts(vectors, [hash_terms("Ana likes tea"), hash_terms("zzz")])[1].any()


async def test_shared_words_decide_without_an_embedder() -> None:
    embedder = open_embedder("none")
    classifier = await build_classifier(embedder, {"work": "employers and jobs", "health": "allergies"})
    facts = ["Ada changed jobs and employers", "Ada has a cat"]
    membership = classifier.classify_facts(await embedder.embed_documents(facts), [hash_terms(text) for text in facts])
    assert membership.tolist() == [[True, False], [False, False]]


async def test_columns_and_single_facts_are_classified_alike() -> None:
    embedder = open_embedder("wordllama")
    classifier = await build_classifier(embedder, SETS["dev"]["buckets"])
    texts = [f"{text} {text}" for text, _ in SETS["dev"]["facts"]]
    vectors = await embedder.embed_documents(texts)
    columns = memory_columns(
        [
            MemoryRow(text, "home#0", text, (), 0, EPOCH, EPOCH, vector, hash_terms(text))
            for text, vector in zip(texts, vectors, strict=True)
        ]
    )
    alone = classifier.classify_facts(vectors, [hash_terms(text) for text in texts])
    assert classifier.classify_columns(columns, unpack(columns.vectors)).tolist() == alone.tolist()


def test_organization_buckets_override_and_defaults_apply() -> None:
    namespace = NamespaceRow("home", 0, ("home#0",), EPOCH, EPOCH, buckets={"work": "mine", "own": "x"})
    organization = OrganizationRow(buckets={"work": "ours"})
    assert effective_buckets(namespace, organization) == {"work": "ours", "own": "x"}
    bare = NamespaceRow("home", 0, ("home#0",), EPOCH, EPOCH)
    assert effective_buckets(bare, OrganizationRow()) == DEFAULT_BUCKETS
