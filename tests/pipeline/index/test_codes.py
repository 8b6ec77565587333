"""Signs of vectors: near enough to the cosine to say which rows deserve an exact one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.texts import Writer
from pipeline.index.codes import Codes
from pipeline.index.scoring import best, cosines
from pipeline.inference.wordllama import WordLlamaEmbedder


def test_the_best_ten_are_among_the_nominated(embedder: WordLlamaEmbedder) -> None:
    writer = Writer(3)
    vectors = np.stack(embedder.embed([writer.paragraph(200) for _ in range(4_000)]))
    codes = Codes.of(vectors)
    everywhere = np.arange(len(vectors))
    kept = []
    for subject in range(20):
        vector = embedder.embed([writer.question(subject)])[0]
        nominated = best(codes.near(vector), everywhere, 256)
        kept.append(np.isin(best(cosines(vectors, vector), everywhere, 10), nominated).mean())
    assert np.mean(kept) >= 0.95


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 130), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_any_number_of_dimensions_and_rows_is_coded(dimensions: int, rows: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(rows, dimensions)).astype(np.float32)
    near = Codes.of(vectors).near(vectors[0])
    assert near.shape == (rows,)
    assert np.isfinite(near).all()


@pytest.mark.parametrize("vector", [np.zeros(64, np.float32), np.ones(64, np.float32)])
def test_vectors_without_differences_are_as_near_as_their_mean(vector: np.ndarray) -> None:
    codes = Codes.of(np.stack([vector] * 3))
    assert codes.near(vector) == pytest.approx([float(vector @ vector)] * 3)
