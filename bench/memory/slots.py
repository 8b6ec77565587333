"""What one more fact costs where an attribute has very many: `python -m bench.memory.slots`.

CPU of looking up what it is compared with, in the hot index and among what was kept, and of the verdict.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import process_time

from bench.figures import machine
from bench.memory.growth import NAME, SPACE, fill, opened
from bench.memory.relations import CACHE
from pipeline.index.cache import NamespaceCache
from pipeline.inference import open_embedder
from pipeline.memory.deriving.rules import sought
from pipeline.memory.ledger import Ledger
from pipeline.memory.relations import judge
from pipeline.memory.slots.reading import slots

ASKED = 30
_SAID: dict[str, Callable[[int], str]] = {
    "several values (likes)": "Ada likes book {}".format,
    "one value (lives in)": "Ada lives in City{}".format,
}


def main() -> None:
    """Print one line for each attribute and size, as a Markdown table."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.slots", description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    chosen = options.parse_args()
    print(f"Medians of {ASKED}, ms of CPU; {machine()}.\n")
    print("| attribute of | facts of it | compared with | first | next |\n|---|---:|---:|---:|---:|")
    for name, said in _SAID.items():
        for size in chosen.sizes:
            with tempfile.TemporaryDirectory(prefix="recollect-slots-") as folder:
                print(
                    f"| {name} | {size:,} | {asyncio.run(_measured(Path(folder), size, said))} |", flush=True
                )


async def _measured(data: Path, size: int, said: Callable[[int], str]) -> str:
    await fill(data, size, lambda number: [said(10 * number + place) for place in range(10)])
    store, at = await opened(data, open_embedder("wordllama")), datetime.now(UTC)
    cache = NamespaceCache(
        store.documents, store.chunks, store.memories, store.catalog, CACHE, folder=data / "index"
    )
    await cache.shared_words(NAME)
    ledger, taken, among = Ledger(store.memories), [], 0
    for number in range(size, size + ASKED):
        begun = process_time()
        own = slots(said(number))
        known = await ledger.sharing([SPACE], own, sought(said(number)), index=cache)
        judge(own, at, known.sharing([SPACE], own))
        taken.append(1000 * (process_time() - begun))
        among = len(known)
    await store.close()
    return f"{among:,} | {taken[0]:.2f} | {median(taken[1:]):.2f}"


if __name__ == "__main__":
    main()
