"""float16 numbers are converted exactly."""

import numpy as np

from pipeline.models.wordllama_embedder import half_to_float32


def test_every_finite_half_is_the_float_that_numpy_makes_of_it() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)]
    assert half_to_float32(finite).tobytes() == finite.astype(np.float32).tobytes()
