"""What versions may depend on is found step by step, and each memory is read once."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from pipeline.memory.ledger import Ledger, keys_of
from pipeline.rows import MemoryRow
from schemas.events import Relation
from tests.fakes import FakeMemories
from tests.pipeline.store.samples import memory

pytestmark = pytest.mark.anyio

SPACE = "alice#0"


class Counted(FakeMemories):
    """Counts how often a memory was read by its id once a key had led to it."""

    def __init__(self) -> None:
        super().__init__()
        self.led_to: set[str] = set()
        self.again = Counter[str]()

    async def get(self, groups: Collection[str]) -> dict[str, list[MemoryRow]]:
        self.again.update(one for one in groups if one in self.led_to)
        return await super().get(groups)

    async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        found = await super().keyed(spaces, keys)
        self.led_to |= {row.id for row in found}
        return found


def _version(city: str, *before: MemoryRow) -> MemoryRow:
    relations = tuple(Relation(kind="updates", target=one.id, why="moved") for one in before)
    row = memory(f"User lives in {city}", ["p"], relations=relations)
    return replace(row, keys=keys_of(row))


@pytest.mark.parametrize("first", [0, 1, 2, 3])
async def test_a_family_is_found_from_any_of_it_and_what_a_key_led_to_is_not_read_again(first: int) -> None:
    rome = _version("Rome")
    oslo = _version("Oslo", rome)
    lima = _version("Lima", oslo)
    chain = [rome, oslo, lima, _version("Bonn", lima)]
    table = Counted()
    table.groups = {row.id: [row] for row in chain}
    facts = await Ledger(table).around([SPACE], {chain[first].id: chain[first]})
    assert {fact.id for fact in facts} == {row.id for row in chain}
    assert not table.again
