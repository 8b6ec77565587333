"""Facts find the buckets they belong in, with an embedder and without."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.columns import memory_columns
from pipeline.inference import open_embedder
from pipeline.profile.buckets import DEFAULT_BUCKETS, described, effective
from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from pipeline.text.terms import hashed
from tests.fakes import EPOCH

pytestmark = pytest.mark.anyio

SETS = json.loads((Path(__file__).parents[2] / "data" / "buckets.json").read_text("utf-8"))["sets"]
"""Facts with the buckets they belong in. The rules were chosen on `dev`; `locked` was written before them."""


@pytest.mark.parametrize(("name", "precision", "recall"), [("dev", 0.85, 0.65), ("locked", 0.9, 0.5)])
async def test_facts_are_in_the_buckets_that_describe_them(
    name: str, precision: float, recall: float
) -> None:
    embedder = open_embedder("wordllama")
    facts = [text for text, _ in SETS[name]["facts"]]
    buckets = await described(embedder, SETS[name]["buckets"])
    found = buckets.of_facts(await embedder.documents(facts), [hashed(text) for text in facts])
    right = np.array([[one in wanted for one in buckets.names] for _, wanted in SETS[name]["facts"]])
    hits = np.count_nonzero(found & right)
    assert hits / np.count_nonzero(found) >= precision
    assert hits / np.count_nonzero(right) >= recall


async def test_without_an_embedder_shared_words_decide() -> None:
    embedder = open_embedder("none")
    buckets = await described(embedder, {"work": "employers and jobs", "health": "allergies"})
    facts = ["Ada changed jobs and employers", "Ada has a cat"]
    found = buckets.of_facts(await embedder.documents(facts), [hashed(text) for text in facts])
    assert found.tolist() == [[True, False], [False, False]]


async def test_rows_side_by_side_are_judged_as_one_by_one() -> None:
    embedder = open_embedder("wordllama")
    buckets = await described(embedder, SETS["dev"]["buckets"])
    texts = [f"{text} {text}" for text, _ in SETS["dev"]["facts"]]
    vectors = await embedder.documents(texts)
    columns = memory_columns(
        [
            MemoryRow(text, "home#0", text, (), 0, EPOCH, EPOCH, vector, hashed(text))
            for text, vector in zip(texts, vectors, strict=True)
        ]
    )
    alone = buckets.of_facts(vectors, [hashed(text) for text in texts])
    assert buckets.of_columns(columns).tolist() == alone.tolist()


def test_the_organization_wins_and_there_is_a_default() -> None:
    namespace = NamespaceRow("home", 0, ("home#0",), EPOCH, EPOCH, buckets={"work": "mine", "own": "x"})
    organization = OrganizationRow(buckets={"work": "ours"})
    assert effective(namespace, organization) == {"work": "ours", "own": "x"}
    bare = NamespaceRow("home", 0, ("home#0",), EPOCH, EPOCH)
    assert effective(bare, OrganizationRow()) == DEFAULT_BUCKETS
