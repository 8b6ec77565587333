"""Logistic regression by Newton's method, for weights that are learned once and written into the code."""

import numpy as np
from numpy.typing import NDArray

_STEPS = 40
_SETTLED = 1e-9
"""Largest change of a weight in a step after which there is nothing left to learn."""


def fit_logistic(
    rows: NDArray[np.float64], truth: NDArray[np.float64], counts: NDArray[np.float64], *, ridge: float
) -> NDArray[np.float64]:
    """Return the weights of the columns, of which the first is the constant and not held back by `ridge`.

    `counts`: what each row counts.
    """
    weights, penalty = np.zeros(rows.shape[1]), np.eye(rows.shape[1]) * ridge
    penalty[0, 0] = 1e-6
    for _ in range(_STEPS):
        found = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (counts * (found - truth)) + penalty @ weights
        curve = (rows * (counts * found * (1 - found))[:, None]).T @ rows + penalty
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < _SETTLED:
            break
    return weights
