"""Cost of one more fact of an attribute with very many: `python -m bench.memory.attribute_cost`.

CPU of looking up what it is compared with, in the namespace index and the fact cache, and of the verdict.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import process_time

from bench.memory.marginal_cost import NAME, SPACE, fill, open_filled_store
from bench.memory.relations import CACHE
from bench.result_tables import machine_description
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.inference.inference_rules import partner_keys
from pipeline.memory.versioning.fact_comparison import compare_fact
from pipeline.memory.versioning.fact_lookup import FactLookup
from pipeline.models import open_embedder

ASKED = 30
_ATTRIBUTE_STATEMENTS: dict[str, Callable[[int], str]] = {
    "several values (likes)": "Ada likes book {}".format,
    "one value (lives in)": "Ada lives in City{}".format,
}


def main() -> None:
    """Print one line for each attribute and size, as a Markdown table."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.attribute_cost", description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    chosen = options.parse_args()
    print(f"Medians of {ASKED}, ms of CPU; {machine_description()}.\n")
    print("| attribute of | facts of it | compared with | first | next |\n|---|---:|---:|---:|---:|")
    for name, statement in _ATTRIBUTE_STATEMENTS.items():
        for size in chosen.sizes:
            with tempfile.TemporaryDirectory(prefix="recollect-slots-") as folder:
                print(f"| {name} | {size:,} | {asyncio.run(_measure(Path(folder), size, statement))} |", flush=True)


async def _measure(data: Path, size: int, statement: Callable[[int], str]) -> str:
    await fill(data, size, lambda number: [statement(10 * number + place) for place in range(10)])
    store, at = await open_filled_store(data, open_embedder("wordllama")), datetime.now(UTC)
    cache = NamespaceIndexCache(
        store.documents, store.chunks, store.memories, store.catalog, CACHE, folder=data / "index"
    )
    await cache.neighbor_search(NAME)
    ledger, taken, candidate_count = FactLookup(store.memories), [], 0
    for number in range(size, size + ASKED):
        begun = process_time()
        own = comparable_attributes(statement(number))
        known = await ledger.candidates_for([SPACE], own, partner_keys(statement(number)), index=cache)
        compare_fact(own, at, known.candidates_for([SPACE], own))
        taken.append(1000 * (process_time() - begun))
        candidate_count = len(known)
    await store.close()
    return f"{candidate_count:,} | {taken[0]:.2f} | {median(taken[1:]):.2f}"


if __name__ == "__main__":
    main()
