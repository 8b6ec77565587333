"""Signs of vectors: near enough to the cosine to say which rows deserve an exact one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.text_generator import TextGenerator
from pipeline.index.ranking.array_operations import cosines, top_k
from pipeline.index.segments.binary_quantization import SignBitCodes
from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from pipeline.packed_vectors import pack


@pytest.mark.anyio
async def test_the_best_ten_are_among_the_nominated(embedder: WordLlamaEmbedder) -> None:
    writer = TextGenerator(3)
    vectors = np.stack(await embedder.embed_documents([writer.paragraph(200) for _ in range(4_000)]))
    codes = SignBitCodes.quantize(vectors)
    everywhere = np.arange(len(vectors))
    kept = []
    for subject in range(20):
        vector = await embedder.embed_query(writer.question(subject))
        nominated = top_k(codes.approximate_cosines(vector), everywhere, 256)
        kept.append(np.isin(top_k(cosines(pack(vectors), vector), everywhere, 10), nominated).mean())
    assert np.mean(kept) >= 0.95


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 130), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_any_number_of_dimensions_and_rows_is_coded(dimensions: int, rows: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(rows, dimensions)).astype(np.float32)
    near = SignBitCodes.quantize(vectors).approximate_cosines(vectors[0])
    assert near.shape == (rows,)
    assert np.isfinite(near).all()


@pytest.mark.parametrize("vector", [np.zeros(64, np.float32), np.ones(64, np.float32)])
def test_vectors_without_differences_are_as_near_as_their_mean(vector: np.ndarray) -> None:
    codes = SignBitCodes.quantize(np.stack([vector] * 3))
    assert codes.approximate_cosines(vector) == pytest.approx([float(vector @ vector)] * 3)
