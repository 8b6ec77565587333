"""Context that is embedded with a passage."""

from pipeline.stages.chunk_rows import with_title_and_heading
from schemas.events import ChunkSpan


def test_title_and_heading_are_embedded_where_the_passage_does_not_say_them() -> None:
    span = ChunkSpan(start=0, end=4, text="noon Tides", heading="Moon")
    assert with_title_and_heading("Tides", span) == "Moon\nnoon Tides"
    assert with_title_and_heading(None, span) == "Moon\nnoon Tides"


def test_the_first_turn_of_a_transcript_is_no_title_of_the_others() -> None:
    turn = ChunkSpan(start=40, end=80, text="Mel: I painted the lake at sunrise.")
    assert with_title_and_heading("Caro: Hey Mel! How have you been?", turn) == turn.text
    assert with_title_and_heading("Talks of Caro and Mel", turn) == f"Talks of Caro and Mel\n{turn.text}"
    prose = ChunkSpan(start=0, end=9, text="We measure recall.")
    assert with_title_and_heading("Recall: a study", prose) == f"Recall: a study\n{prose.text}"
