"""Facts find the buckets they belong in, with an embedder and without."""

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from pipeline.columns import memory_columns
from pipeline.models import open_embedder
from pipeline.profile.bucket_classifier import DEFAULT_BUCKETS, build_classifier, effective_buckets
from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from pipeline.text.analyzer import hash_terms
from tests.support.fakes import EPOCH

pytestmark = pytest.mark.anyio

SETS = json.loads((Path(__file__).parents[2] / "data" / "buckets.json").read_text("utf-8"))["sets"]
"""Facts with the buckets they belong in. The rules were chosen on `dev`; `locked` was written before them."""


@pytest.mark.parametrize(
    ("kind", "name", "precision", "recall"),
    [("wordllama", "dev", 0.85, 0.65), ("wordllama", "locked", 0.9, 0.5), ("e5", "dev", 0.85, 0.6)],
)
async def test_facts_are_in_the_buckets_that_describe_them(
    kind: Literal["wordllama", "e5"], name: str, precision: float, recall: float
) -> None:
    embedder = open_embedder(kind)
    facts = [text for text, _ in SETS[name]["facts"]]
    buckets = await build_classifier(embedder, SETS[name]["buckets"])
    membership = buckets.classify_facts(await embedder.embed_documents(facts), [hash_terms(text) for text in facts])
    right = np.array([[bucket in expected for bucket in buckets.names] for _, expected in SETS[name]["facts"]])
    hits = np.count_nonzero(membership & right)
    assert hits / np.count_nonzero(membership) >= precision
    assert hits / np.count_nonzero(right) >= recall


async def test_shared_words_decide_without_an_embedder() -> None:
    embedder = open_embedder("none")
    buckets = await build_classifier(embedder, {"work": "employers and jobs", "health": "allergies"})
    facts = ["Ada changed jobs and employers", "Ada has a cat"]
    membership = buckets.classify_facts(await embedder.embed_documents(facts), [hash_terms(text) for text in facts])
    assert membership.tolist() == [[True, False], [False, False]]


async def test_columns_and_single_facts_are_classified_alike() -> None:
    embedder = open_embedder("wordllama")
    buckets = await build_classifier(embedder, SETS["dev"]["buckets"])
    texts = [f"{text} {text}" for text, _ in SETS["dev"]["facts"]]
    vectors = await embedder.embed_documents(texts)
    columns = memory_columns(
        [
            MemoryRow(text, "home#0", text, (), 0, EPOCH, EPOCH, vector, hash_terms(text))
            for text, vector in zip(texts, vectors, strict=True)
        ]
    )
    alone = buckets.classify_facts(vectors, [hash_terms(text) for text in texts])
    assert buckets.classify_columns(columns).tolist() == alone.tolist()


def test_organization_buckets_override_and_defaults_apply() -> None:
    namespace = NamespaceRow("home", 0, ("home#0",), EPOCH, EPOCH, buckets={"work": "mine", "own": "x"})
    organization = OrganizationRow(buckets={"work": "ours"})
    assert effective_buckets(namespace, organization) == {"work": "ours", "own": "x"}
    bare = NamespaceRow("home", 0, ("home#0",), EPOCH, EPOCH)
    assert effective_buckets(bare, OrganizationRow()) == DEFAULT_BUCKETS
