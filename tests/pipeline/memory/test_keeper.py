"""Memories change alike whether one process changes them or several do."""

import asyncio
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.keeper import Keeper
from pipeline.memory.ledger import Ledger
from pipeline.memory.statements import Edit
from pipeline.rows import MemoryRow
from pipeline.store import open_locks
from schemas.events import Relation
from tests.fakes import FakeCatalog, FakeMemories
from tests.pipeline.store.samples import EPOCH, memory, opened

_CITIES = ["Rome", "Oslo", "Lima", "Bonn"]
_SPACE = "alice#0"


@dataclass(frozen=True, slots=True)
class Step:
    """One change of one memory, by one of two processes."""

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
        relations=(Relation(kind="updates", target=target, why="moved"),) if replaces < number else (),
    )


async def _carry_out(keeper: Keeper, step: Step) -> None:
    fact = _fact(step.city, step.replaces, step.source)
    edits: dict[str, Callable[[MemoryRow | None], MemoryRow | None]] = {
        "form": lambda row: row or fact,
        "forget": lambda row: None if row is None else replace(row, forgotten_at=EPOCH),
    }
    if step.kind == "withdraw":
        await keeper.withdraw([step.source])
    else:
        edit: Edit = edits[step.kind]
        await keeper.change([_SPACE], {fact.id: [edit]})


def _standing(rows: Iterable[MemoryRow]) -> set[tuple[str, int, bool, bool]]:
    return {(row.text, row.version, row.is_latest, row.forgotten_at is None) for row in rows}


def _catalog() -> FakeCatalog:
    catalog = FakeCatalog()
    catalog.create("alice")
    return catalog


async def _alone(history: list[Step]) -> set[tuple[str, int, bool, bool]]:
    memories, catalog = FakeMemories(), _catalog()
    keeper = Keeper(memories, Ledger(memories), catalog)
    for step in history:
        await _carry_out(keeper, step)
    return _standing(memories.rows)


@settings(max_examples=10, deadline=None)
@given(steps)
def test_two_processes_leave_the_versions_that_one_would(history: list[Step]) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            stores = [await opened(folder, shared=True) for _ in range(2)]
            keepers = [
                Keeper(store.memories, Ledger(store.memories), _catalog(), open_locks(folder))
                for store in stores
            ]
            for step in history:
                await _carry_out(keepers[step.second], step)
            assert _standing(await stores[0].memories.in_spaces([_SPACE])) == await _alone(history)

    asyncio.run(live())


def test_versions_count_on_when_two_processes_change_a_chain_at_a_time(tmp_path: Path) -> None:
    async def live() -> None:
        stores = [await opened(tmp_path, shared=True) for _ in range(2)]
        keepers = [
            Keeper(store.memories, Ledger(store.memories), _catalog(), open_locks(str(tmp_path)))
            for store in stores
        ]
        chain = [Step(bool(number % 2), "form", number, max(number - 1, 0), "p") for number in range(4)]
        await asyncio.gather(*(_carry_out(keepers[step.second], step) for step in chain))
        rows = await stores[0].memories.in_spaces([_SPACE])
        assert sorted((row.version, row.is_latest) for row in rows) == [
            (1, False), (2, False), (3, False), (4, True),
        ]  # fmt: skip

    asyncio.run(live())
