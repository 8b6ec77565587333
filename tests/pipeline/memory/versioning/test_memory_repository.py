"""Memories change alike whether one process changes them or several do."""

import asyncio
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.versioning.fact_lookup import FactLookup
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.memory.versioning.provenance import MemoryEdit
from pipeline.rows import MemoryRow
from pipeline.store import open_locks
from schemas.events import Relation
from tests.support.fakes import FakeCatalog, FakeMemoryTable
from tests.support.store_rows import EPOCH, memory, open_test_store

_CITIES = ["Rome", "Oslo", "Lima", "Bonn"]
_INCARNATION = "alice#0"


@dataclass(frozen=True, slots=True)
class Step:
    """A change of one memory by one of two processes."""

    second: bool
    kind: str
    city: int
    replaces: int
    source: str


steps = st.lists(
    st.builds(
        Step,
        second=st.booleans(),
        kind=st.sampled_from(["form", "form", "forget", "withdraw"]),
        city=st.integers(0, 3),
        replaces=st.integers(0, 3),
        source=st.sampled_from(["p", "q"]),
    ),
    max_size=10,
)


def _fact(number: int, replaces: int, source: str) -> MemoryRow:
    target = memory(f"User lives in {_CITIES[replaces]}", []).id
    return memory(
        f"User lives in {_CITIES[number]}",
        [source],
        updated_at=EPOCH + timedelta(days=number),
        relations=(Relation(kind="updates", target=target, reason="moved"),) if replaces < number else (),
    )


async def _apply_step(repository: MemoryRepository, step: Step) -> None:
    fact = _fact(step.city, step.replaces, step.source)
    edits: dict[str, Callable[[MemoryRow | None], MemoryRow | None]] = {
        "form": lambda row: row or fact,
        "forget": lambda row: None if row is None else replace(row, forgotten_at=EPOCH),
    }
    if step.kind == "withdraw":
        await repository.remove_documents([step.source])
    else:
        edit: MemoryEdit = edits[step.kind]
        await repository.apply([_INCARNATION], {fact.id: [edit]})


def _version_states(rows: Iterable[MemoryRow]) -> set[tuple[str, int, bool, bool]]:
    return {(row.text, row.version, row.is_latest, row.forgotten_at is None) for row in rows}


def _catalog() -> FakeCatalog:
    catalog = FakeCatalog()
    catalog.create("alice")
    return catalog


async def _single_process_states(history: list[Step]) -> set[tuple[str, int, bool, bool]]:
    memories, catalog = FakeMemoryTable(), _catalog()
    keeper = MemoryRepository(memories, FactLookup(memories), catalog)
    for step in history:
        await _apply_step(keeper, step)
    return _version_states(memories.rows)


@settings(max_examples=10, deadline=None)
@given(steps)
def test_two_processes_produce_the_versions_of_one(history: list[Step]) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            stores = [await open_test_store(folder, shared=True) for _ in range(2)]
            keepers = [
                MemoryRepository(store.memories, FactLookup(store.memories), _catalog(), open_locks(folder))
                for store in stores
            ]
            for step in history:
                await _apply_step(keepers[step.second], step)
            assert _version_states(await stores[0].memories.list_rows([_INCARNATION])) == await _single_process_states(
                history
            )

    asyncio.run(live())


def test_versions_stay_consecutive_when_two_processes_change_a_chain(tmp_path: Path) -> None:
    async def live() -> None:
        stores = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
        keepers = [
            MemoryRepository(store.memories, FactLookup(store.memories), _catalog(), open_locks(str(tmp_path)))
            for store in stores
        ]
        chain = [Step(bool(number % 2), "form", number, max(number - 1, 0), "p") for number in range(4)]
        await asyncio.gather(*(_apply_step(keepers[step.second], step) for step in chain))
        rows = await stores[0].memories.list_rows([_INCARNATION])
        assert sorted((row.version, row.is_latest) for row in rows) == [
            (1, False), (2, False), (3, False), (4, True),
        ]  # fmt: skip

    asyncio.run(live())
