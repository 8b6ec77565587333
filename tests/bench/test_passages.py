"""Share of a question's places among the first results."""

from datetime import UTC, datetime

import numpy as np

from bench.passages import positions_within_budget, share_of
from pipeline.rows import ChunkRow


def row(document: str, start: int, text: str) -> ChunkRow:
    return ChunkRow(
        id=f"{document}-{start}",
        incarnation="s#0",
        document=document,
        position=0,
        text=text,
        start=start,
        end=start + len(text),
        seq=0,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        vector=np.zeros(0, np.float32),
        terms=np.zeros(0, np.uint32),
    )


def test_a_place_counts_as_far_as_it_is_there_and_once() -> None:
    places = [("d", 10, 20), ("d", 30, 40)]
    assert share_of(places, [("d", 5, 15), ("d", 12, 17), ("e", 30, 40)], entire=False) == 7 / 20
    assert share_of(places, [("d", 0, 17), ("d", 17, 25)], entire=True) == 1 / 2


def test_what_comes_first_ends_where_the_characters_do() -> None:
    rows = [row("d", 0, "x" * 10), row("e", 5, "x" * 10), row("f", 0, "x" * 10)]
    assert positions_within_budget(rows, 15) == [("d", 0, 10), ("e", 5, 9)]
    assert positions_within_budget(rows, 11) == [("d", 0, 10)]
