"""The embedder of two models: e5's vector, and a part in which only languages count that the encoder knows."""

import numpy as np
import pytest

from pipeline.models.e5.e5_embedder import DIMENSIONS, E5Embedder
from pipeline.models.e5_with_encoder_embedder import ENCODER_WEIGHT, E5WithEncoderEmbedder
from tests.pipeline.models.e5.sample_texts import TEXTS

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def embedder() -> E5WithEncoderEmbedder:
    return E5WithEncoderEmbedder.from_package()


async def test_the_vector_of_e5_comes_first(embedder: E5WithEncoderEmbedder) -> None:
    alone = await E5Embedder.from_package().embed_query("green tea")
    assert ((await embedder.embed_query("green tea"))[:DIMENSIONS] == alone).all()


async def test_the_part_has_its_weight_in_languages_that_the_encoder_knows(embedder: E5WithEncoderEmbedder) -> None:
    (vector,) = await embedder.embed_documents(["Paul eats neither meat nor fish."])
    assert np.linalg.norm(vector[DIMENSIONS:]) == pytest.approx(ENCODER_WEIGHT, abs=1e-4)


@pytest.mark.parametrize("text", ["मेरा भाई दिल्ली में रहता है।", "ההורים שלי גרים בחיפה", "0x80070005"])
async def test_the_part_is_zero_where_the_encoder_does_not_know_the_language(
    embedder: E5WithEncoderEmbedder, text: str
) -> None:
    (vector,) = await embedder.embed_documents([text])
    assert vector[:DIMENSIONS].any()
    assert not vector[DIMENSIONS:].any()


async def test_a_question_is_nearest_to_its_answer_by_the_part_alone(embedder: E5WithEncoderEmbedder) -> None:
    facts = [texts[0] for texts in TEXTS.values()]
    vectors = np.stack(await embedder.embed_documents(facts))[:, DIMENSIONS:]
    question = (await embedder.embed_query("Who is a vegetarian?"))[DIMENSIONS:]
    assert facts[int(np.argmax(vectors @ question))] == "Paul eats neither meat nor fish."


async def test_a_text_without_characters_has_no_vector(embedder: E5WithEncoderEmbedder) -> None:
    assert not (await embedder.embed_query(" ")).any()


async def test_strange_texts_have_finite_vectors(embedder: E5WithEncoderEmbedder) -> None:
    for text in ["\0", "\ud800 lone", "x" * 50_000, "word " * 10_000, "?!", "\u200b", "."]:
        vector = await embedder.embed_query(text)
        assert vector.shape == (embedder.dimensions,)
        assert np.isfinite(vector).all()
