"""What ends a statement is told from a remark on the same thing, in languages that nothing was learned from."""

import numpy as np
import pytest

from pipeline.index.ranking.calibration import calibration_for
from pipeline.models.e5.e5_embedder import E5Embedder
from pipeline.models.e5_with_encoder_embedder import E5WithEncoderEmbedder

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("model", [E5Embedder, E5WithEncoderEmbedder])
@pytest.mark.parametrize(
    ("holds", "ends", "remark"),
    [
        ("Minulla on Volvo.", "Myin Volvon ja ostin Toyotan.", "Volvon rengas puhkesi tänään."),
        ("Jeg jobber på Rema.", "Jeg sluttet på Rema, nå jobber jeg på Kiwi.", "Det var lang kø på Rema i dag."),
        ("Locuiesc la Cluj.", "M-am mutat din Cluj la Iași.", "La Cluj a nins toată ziua."),
    ],
)
async def test_an_end_adds_more_than_a_remark(model: type[E5Embedder], holds: str, ends: str, remark: str) -> None:
    embedder = model.from_package()
    calibration = calibration_for(embedder.name)
    assert calibration.common_part is not None
    assert calibration.statement_meanings is not None
    vectors = np.stack(await embedder.embed_documents([holds, ends, remark]))
    added = calibration.statement_meanings.log_odds(calibration.common_part.directions_of(vectors))
    assert added[0, 1] > added[0, 2]
