"""`python -m bench.search_charts`: charts of searches, drawn from the tables of decision record 0014."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).parent.parent / "docs"
DOCUMENT = _DOCS / "decisions" / "0014-rank-passages-by-context-document-and-memories.md"
PICTURE = _DOCS / "images" / "searches.svg"
THRESHOLDS, PARTS, TIMES = "What a threshold keeps", "What each part brings", "Where a search spends its time"
_CURVES = {
    1: "LoCoMo: evidence kept",
    4: "foreign questions silent",
    5: "neighbouring silent",
    6: "Cranfield: evidence kept",
}
"""Columns of the table of thresholds."""


def main() -> None:
    """Draw."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - of a dependency group that is not always there

    text = DOCUMENT.read_text("utf-8")
    figure = Figure(figsize=(20, 5), layout="constrained")
    thresholds, parts, times = figure.subplots(1, 3)
    rows = table(text, THRESHOLDS)
    for column, name in _CURVES.items():
        thresholds.plot([number(row[0]) for row in rows], [number(row[column]) for row in rows], marker="o", label=name)
    thresholds.set(title="what a threshold keeps, %", xlabel="threshold")
    thresholds.grid(visible=True, alpha=0.2)
    thresholds.legend(fontsize="small")
    total, *without = table(text, PARTS)
    _bars(parts, [(row[0], number(total[1]) - number(row[1])) for row in without])
    parts.set(title="points lost of 720 tokens")
    _bars(times, [(row[0], number(row[1])) for row in table(text, TIMES)])
    times.set(title="share of processor time, %")
    figure.savefig(PICTURE, metadata={"Date": None})


def table(text: str, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    below = text.split(f"### {heading}\n", 1)[1]
    lines = re.findall(r"^\|(.*)\|$", below.split("\n### ", 1)[0].split("\n## ", 1)[0], re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def number(cell: str) -> float:
    """The number in a cell, whatever stands around it."""
    found = re.search(r"\d+(?:\.\d+)?", cell)
    if found is None:
        message = f"There is no number in {cell!r}"
        raise ValueError(message)
    return float(found[0])


def _bars(panel: Any, bars: Sequence[tuple[str, float]]) -> None:
    """Longest at the top."""
    ordered = sorted(bars, key=lambda bar: bar[1])
    panel.barh([name for name, _ in ordered], [value for _, value in ordered])


if __name__ == "__main__":
    main()
