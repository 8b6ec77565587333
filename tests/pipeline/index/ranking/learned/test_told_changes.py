"""Statements that tell of a change are told from others, in languages that no list of words was needed for."""

import numpy as np
import pytest

from pipeline.index.ranking.calibration import calibration_for
from pipeline.models.e5.e5_embedder import E5Embedder
from pipeline.models.e5_with_encoder_embedder import E5WithEncoderEmbedder

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("model", [E5Embedder, E5WithEncoderEmbedder])
@pytest.mark.parametrize(
    ("holds", "change"),
    [
        ("Pluton on meidän kissamme.", "Erosimme Pekan kanssa syksyllä."),
        ("Jeg bor på Frogner.", "Jeg har flyttet til Bergen."),
        ("Lucrez la o bancă.", "Mi-am dat demisia de la bancă."),
    ],
)
async def test_a_change_is_told_in_languages_that_nothing_was_learned_from(
    model: type[E5Embedder], holds: str, change: str
) -> None:
    embedder = model.from_package()
    calibration = calibration_for(embedder.name)
    assert calibration.common_part is not None
    assert calibration.told_changes is not None
    directions = calibration.common_part.directions_of(np.stack(await embedder.embed_documents([holds, change])))
    of_holds, of_change = calibration.told_changes.log_odds(directions)
    assert of_change > of_holds + 1.0
