"""Pictures are drawn from the tables that the document shows."""

import pytest

from bench.search_charts import DOCUMENT, PARTS, THRESHOLDS, TIMES, number, table


@pytest.mark.parametrize("heading", [THRESHOLDS, PARTS, TIMES])
def test_every_picture_has_its_table(heading: str) -> None:
    rows = table(DOCUMENT.read_text("utf-8"), heading)
    assert len(rows) > 4
    assert all(number(row[1]) > 0 for row in rows)


def test_cells_are_read_without_their_dress() -> None:
    text = "### A\n\n| a | b |\n|---|---:|\n| **0.3** | 90 % |\n\n### B\n\n| a |\n|---|\n| 7 |\n"
    assert [[number(cell) for cell in row] for row in table(text, "A")] == [[0.3, 90.0]]
    with pytest.raises(ValueError, match="no number"):
        number("none")
