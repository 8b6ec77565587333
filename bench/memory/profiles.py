"""Cost of a profile, at first, repeated, after a change, and filtered: `python -m bench.memory.profiles`.

In the tables of `bench.memory.marginal_cost`, without HTTP. A filter lets half of the documents through, or
a tenth.
"""

import argparse
import asyncio
import tempfile
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from time import perf_counter, process_time

from api.search.profile_query import ProfileQuery
from app.resources import SystemClock
from bench.memory.marginal_cost import NAME, SPACE, facts_of_many_people, fill, open_filled_store
from bench.result_tables import machine_description, milliseconds
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.models import open_embedder
from pipeline.profile.profile_cache import ProfileCache
from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from pipeline.store import Store
from schemas.filters import FilterExpression, NumericComparison
from schemas.http.v5.profile_bodies import ProfileBody
from schemas.ids import memory_id

CACHE = 256 << 20
ASKED = 200
_BUCKETS = {
    "work": "What somebody does for a living: jobs, employers, colleagues, projects",
    "places": "Where somebody lives, was or goes: cities, countries, museums, shops",
    "preferences": "What somebody likes, loves, prefers or dislikes",
}
_HALF = NumericComparison(field="shelf", operator="gte", value=5)
_TENTH = NumericComparison(field="shelf", operator="lt", value=1)


@dataclass(frozen=True, slots=True)
class _ProfileFixture:
    """A namespace whose profile is asked for."""

    store: Store
    profiling: ProfileQuery
    namespace: NamespaceRow

    async def time_profile(self, expression: FilterExpression | None = None, *buckets: str) -> tuple[float, float]:
        """Seconds of CPU, and on the clock."""
        filter_body = None if expression is None else expression.model_dump(by_alias=True)
        body = ProfileBody.model_validate({"filter": filter_body, "buckets": list(buckets) or None})
        begun, began = process_time(), perf_counter()
        await self.profiling(self.namespace, OrganizationRow(), body)
        return process_time() - begun, perf_counter() - began

    async def change(self, number: int) -> None:
        """State a memory again, later."""
        edited = memory_id(SPACE, facts_of_many_people(number)[0])
        later = timedelta(hours=1)

        def change(_: str, rows: list[MemoryRow]) -> list[MemoryRow]:
            return [replace(row, updated_at=row.updated_at + later) for row in rows]

        await self.store.memories.update([edited], change)


def main() -> None:
    """Print one line for each question, as a Markdown table."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.profiles", description=__doc__)
    options.add_argument("--memories", type=int, default=10_000)
    options.add_argument("--data", type=Path, help="tables that were filled before, or are to be kept")
    chosen = options.parse_args()
    print(f"{chosen.memories:,} memories, {len(_BUCKETS)} buckets; {machine_description()}.\n")
    print("| profile | ms of CPU | p99 | ms of clock | p99 |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="recollect-profiles-") as folder:
        asyncio.run(_print(chosen.data or Path(folder), chosen.memories))


async def _print(data: Path, size: int) -> None:
    if not (data / "tables").exists():
        await fill(data, size)
    home = await _open_fixture(data)
    _line("the first", [await home.time_profile()])
    _line("again", [await home.time_profile() for _ in range(ASKED)])
    _line("one bucket", [await home.time_profile(None, "places") for _ in range(ASKED)])
    changed = []
    for number in range(ASKED):
        await home.change(number)
        changed.append(await home.time_profile())
    _line("after a change", changed)
    for name, expression in (("half", _HALF), ("a tenth", _TENTH)):
        _line(f"{name} by a filter, the first", [await home.time_profile(expression)])
        _line(f"{name} by a filter", [await home.time_profile(expression) for _ in range(ASKED)])
        _line(
            f"{name} by a filter, one bucket",
            [await home.time_profile(expression, "work") for _ in range(ASKED)],
        )
        changed = []
        for number in range(ASKED):
            await home.change(number)
            changed.append(await home.time_profile(expression))
        _line(f"{name} by a filter, after a change", changed)
    await home.store.close()


async def _open_fixture(data: Path) -> _ProfileFixture:
    embedder = open_embedder("wordllama")
    store, clock = await open_filled_store(data, embedder, _BUCKETS), SystemClock()
    namespace = store.catalog.namespace(NAME)
    if namespace is None:
        message = f"There is no namespace {NAME}"
        raise SystemExit(message)
    profiles = ProfileCache(
        documents=store.documents,
        memories=store.memories,
        catalog=store.catalog,
        embedder=embedder,
        clock=clock,
    )
    cache = NamespaceIndexCache(
        store.documents, store.chunks, store.memories, store.catalog, CACHE, folder=data / "index"
    )
    return _ProfileFixture(store, ProfileQuery(profiles, cache, clock), namespace)


def _line(name: str, taken: list[tuple[float, float]]) -> None:
    figures = (milliseconds(each, share) for each in zip(*taken, strict=True) for share in (0.5, 0.99))
    print(f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |", flush=True)


if __name__ == "__main__":
    main()
