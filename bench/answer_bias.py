"""`python -m bench.answer_bias`: learn anew which questions and statements are near to each other without an answer.

Writes `e5_answer_bias.npy` and `e5_with_encoder_answer_bias.npy` in `pipeline/index/ranking/learned` from
`bench.datasets.answered`. In each step a question meets its statement and about ten others: its score is to be above
a bar, theirs below it, and below its own. No collection that `bench.ranking` measures is read.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.datasets.answered import answered_statements, other_questions
from bench.learned_files import common_part_of, learn_files
from pipeline.index.ranking.calibration import Calibration, calibration_for, learned_file
from pipeline.ports import Embedder

_STEPS = 400
_RATE = 0.003
_ROWS = 10
"""Other statements that a question meets."""
_BAR = 0.8
_STEEPNESS = 1.5
_ORDER_WEIGHT = 0.5
"""Weight of a statement's lead over the others, beside its distance to the bar."""
_QUESTION_PENALTY = 0.2
_STATEMENT_PENALTY = 0.5
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Examples:
    """Directions of questions and statements, floors of questions, and the row of each question's statement, or -1."""

    questions: Matrix
    floors: Matrix
    statements: Matrix
    answers: NDArray[np.intp]


def main() -> None:
    """Write the files."""
    learn_files(_learn_file)


async def _learn_file(embedder: Embedder) -> None:
    calibration = calibration_for(embedder.name)
    bias = learn(await _embed(embedder, calibration), calibration.vector_weight)
    path = learned_file(embedder.name, "answer_bias")
    np.save(path, bias.astype(np.float16))
    print(f"{path}: {bias.shape}")


async def _embed(embedder: Embedder, calibration: Calibration) -> Examples:
    common, pairs = common_part_of(embedder), answered_statements()
    asked = [(question, at) for at, (_, questions) in enumerate(pairs) for question in questions]
    asked += [(question, -1) for question in other_questions()]
    vectors = [await embedder.embed_query(question) for question, _ in asked]
    return Examples(
        np.stack([common.query_direction(vector) for vector in vectors]),
        np.array([calibration.usual_floor(vector, _ROWS) for vector in vectors], np.float32),
        common.directions_of(np.stack(await embedder.embed_documents([statement for statement, _ in pairs]))),
        np.array([at for _, at in asked]),
    )


def learn(examples: Examples, scale: float) -> Matrix:
    """The weights of questions and the direction of statements, by Adam over all questions at once."""
    rng = np.random.default_rng(1)
    width = examples.questions.shape[1]
    bias, momentum, variance = np.zeros((3, width)), np.zeros((3, width)), np.zeros((3, width))
    for step in range(1, _STEPS + 1):
        gradient = _gradient(examples, scale, bias, rng)
        momentum += 0.1 * (gradient - momentum)
        variance += 0.001 * (gradient**2 - variance)
        bias -= _RATE * (momentum / (1 - 0.9**step)) / (np.sqrt(variance / (1 - 0.999**step)) + 1e-8)
    return bias[:2].astype(np.float32)


def _gradient(
    examples: Examples, scale: float, bias: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """The gradient by the weights of questions, the direction of statements, and what is added to every floor."""
    weights, near_all, offset = bias[0], bias[1], bias[2, 0]
    floors = examples.floors + examples.questions @ weights + offset
    scores = scale * ((examples.questions - near_all) @ examples.statements.T - floors[:, None])
    answered = np.flatnonzero(examples.answers >= 0)
    answers = examples.answers[answered]
    met = rng.random(scores.shape) < _ROWS / scores.shape[1]
    met[answered, answers] = False
    others = np.where(met, scores, -np.inf).argmax(axis=1)
    own, other = scores[answered, answers], scores[np.arange(len(scores)), others]
    lead = _ORDER_WEIGHT * _slope(other[answered] - own) / len(own)
    by_own = -_STEEPNESS * _slope(_STEEPNESS * (_BAR - own)) / len(own) - lead
    by_other = _STEEPNESS * _slope(_STEEPNESS * (other - _BAR)) / len(other)
    by_other[answered] += lead
    by_question = by_other.copy()
    by_question[answered] += by_own
    gradient = np.zeros_like(bias)
    gradient[0] = -scale * by_question @ examples.questions + 2 * _QUESTION_PENALTY * weights
    gradient[1] = -scale * (by_own @ examples.statements[answers] + by_other @ examples.statements[others])
    gradient[1] += 2 * _STATEMENT_PENALTY * near_all
    gradient[2, 0] = -scale * by_question.sum()
    return gradient


def _slope(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The derivative of log(1 + exp(score))."""
    return 1.0 / (1.0 + np.exp(-scores))


if __name__ == "__main__":
    main()
