"""`python -m bench.plot RESULTS PICTURE`: `bench.scale` as curves over the number of documents."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.scale import NAMESPACES, Grown, read

PANELS: Sequence[tuple[str, Callable[[Grown], float]]] = (
    ("ingest, documents/s", lambda one: one.ingest),
    ("search p50, ms (warm)", lambda one: one.warm_p50),
    ("search p99, ms (warm)", lambda one: one.warm_p99),
    ("first search of a namespace, ms", lambda one: one.cold_p50),
    ("resident, MB", lambda one: one.resident / 1e6),
    ("tables, MB", lambda one: one.tables / 1e6),
    ("files of the tables", lambda one: one.files),
    ("replay, documents/s", lambda one: one.replay),
)
COLUMNS = 4


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(prog="python -m bench.plot", description=__doc__)
    parser.add_argument("results", type=Path, help="what bench.scale wrote")
    parser.add_argument("picture", type=Path, help="an .svg")
    options = parser.parse_args()
    draw(read(options.results), options.picture)


def draw(grown: Sequence[Grown], picture: Path) -> None:
    """A panel for each figure, a line for each number of namespaces."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - of a dependency group that is not always there

    figure = Figure(figsize=(14, 6.5), layout="constrained")
    panels = figure.subplots(len(PANELS) // COLUMNS, COLUMNS).flat
    for panel, (title, value) in zip(panels, PANELS, strict=True):
        for many in NAMESPACES:
            line = sorted((one.documents, value(one)) for one in grown if one.namespaces == many)
            panel.plot(*zip(*line, strict=True), marker="o", label=f"{many:,} namespaces")
        panel.set(title=title, xscale="log", yscale="log", xlabel="documents")
        panel.grid(visible=True, which="both", alpha=0.2)
    figure.axes[0].legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
