"""Vectors of the topics of buckets: files for the default models, made of the topics as they are."""

from dataclasses import astuple
from typing import Literal

import numpy as np
import pytest

from pipeline.models import open_embedder
from pipeline.profile.topic_vectors import embed_topics, topic_vectors, topics_file

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", ["e5", "e5-encoder"])
async def test_a_default_models_file_holds_what_the_model_says_today(kind: Literal["e5", "e5-encoder"]) -> None:
    embedder = open_embedder(kind)
    assert topics_file(embedder.name).is_file()
    for stored, fresh in zip(
        astuple(await topic_vectors(embedder)), astuple(await embed_topics(embedder)), strict=True
    ):
        lengths = np.linalg.norm(stored, axis=-1) * np.linalg.norm(fresh, axis=-1)
        cosines = np.vecdot(stored, fresh) / lengths  # processors round differently
        assert cosines.min() > 0.985, "write the files anew: python -m bench.topic_vectors"


async def test_another_models_topics_are_embedded() -> None:
    embedder = open_embedder("wordllama")
    assert not topics_file(embedder.name).exists()
    assert np.array_equal((await topic_vectors(embedder)).examples, (await embed_topics(embedder)).examples)
