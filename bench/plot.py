"""`python -m bench.plot RESULTS PICTURE`: `bench.scale` as curves over the number of documents."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.scale import NAMESPACES, ScaleResult, read

PANELS: Sequence[tuple[str, Callable[[ScaleResult], float]]] = (
    ("ingest, documents/s", lambda figures: figures.ingest),
    ("search p50, ms (warm)", lambda figures: figures.warm_p50),
    ("search p99, ms (warm)", lambda figures: figures.warm_p99),
    ("first search of a namespace, ms", lambda figures: figures.cold_p50),
    ("resident, MB", lambda figures: figures.resident / 1e6),
    ("tables, MB", lambda figures: figures.tables / 1e6),
    ("files of the tables", lambda figures: figures.files),
    ("replay, documents/s", lambda figures: figures.replay),
)
COLUMNS = 4


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(prog="python -m bench.plot", description=__doc__)
    parser.add_argument("results", type=Path, help="what bench.scale wrote")
    parser.add_argument("picture", type=Path, help="an .svg")
    options = parser.parse_args()
    draw(read(options.results), options.picture)


def draw(grown: Sequence[ScaleResult], picture: Path) -> None:
    """A panel for each figure, a line for each number of namespaces."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - of a dependency group that is not always there

    figure = Figure(figsize=(14, 6.5), layout="constrained")
    panels = figure.subplots(len(PANELS) // COLUMNS, COLUMNS).flat
    for panel, (title, value) in zip(panels, PANELS, strict=True):
        for namespaces in NAMESPACES:
            line = sorted((figures.documents, value(figures)) for figures in grown if figures.namespaces == namespaces)
            panel.plot(*zip(*line, strict=True), marker="o", label=f"{namespaces:,} namespaces")
        panel.set(title=title, xscale="log", yscale="log", xlabel="documents")
        panel.grid(visible=True, which="both", alpha=0.2)
    figure.axes[0].legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
