"""Generation registry: which generation is active, and what happens to the others."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.store.generations.generation_registry import (
    ActiveGeneration,
    Generation,
    IndexConfig,
    open_generations,
)

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RECIPE = IndexConfig(embedder="none", embedder_model="m", embedder_dimensions=1, chunk_size=100, shards=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _made(folder: Path, *numbers: int) -> None:
    for number in numbers:
        table = (folder / f"g{number}" if number else folder) / "documents.lance"
        table.mkdir(parents=True)
        (table / "data").write_text("rows")


def _there(folder: Path) -> set[str]:
    return {str(path.parent.relative_to(folder)) for path in folder.glob("**/*.lance")}


async def test_generation_0_in_the_folder_itself_is_active_before_any_replay(tmp_path: Path) -> None:
    generations = open_generations(str(tmp_path))
    served = await generations.read_active()
    assert served == ActiveGeneration(current=Generation(number=0), previous=None)
    assert generations.uri(served.current) == str(tmp_path)


async def test_the_last_activated_generation_is_active(tmp_path: Path) -> None:
    generations = open_generations(str(tmp_path))
    old = Generation(number=0, offsets={"documents.submitted.v1": {0: 7}})
    new = await generations.allocate(RECIPE, NOW)
    await generations.activate(new, old)
    assert await open_generations(str(tmp_path)).read_active() == ActiveGeneration(current=new, previous=old)
    assert generations.uri(new) == str(tmp_path / "g1")


async def test_a_new_generation_has_an_unused_number(tmp_path: Path) -> None:
    generations = open_generations(str(tmp_path))
    first = await generations.allocate(RECIPE, NOW)
    await generations.activate(first, Generation(number=0))
    second = await generations.allocate(RECIPE, NOW)
    await generations.activate(first, second)  # rolled back
    third = await generations.allocate(RECIPE, NOW)
    assert [generation.number for generation in (first, second, third)] == [1, 2, 3]


async def test_unfinished_generations_and_those_before_the_previous_one_are_deleted(tmp_path: Path) -> None:
    _made(tmp_path, 0, 1, 2, 3)
    generations = open_generations(str(tmp_path))
    await generations.activate(Generation(number=1), Generation(number=0))
    assert await generations.delete_unreferenced() == [2, 3]
    assert _there(tmp_path) == {".", "g1"}
    _made(tmp_path, 2)
    await generations.activate(Generation(number=2), Generation(number=1))
    assert await generations.delete_unreferenced() == []
    assert _there(tmp_path) == {"g1", "g2"}


async def test_generation_0_is_kept_while_it_is_active(tmp_path: Path) -> None:
    _made(tmp_path, 0, 1)
    assert await open_generations(str(tmp_path)).delete_unreferenced() == [1]
    assert _there(tmp_path) == {"."}


async def test_an_unfinished_write_of_the_pointer_changes_nothing(tmp_path: Path) -> None:
    generations = open_generations(str(tmp_path))
    await generations.activate(Generation(number=1), None)
    (tmp_path / "current.half").write_text("{")
    assert (await generations.read_active()).current.number == 1


@pytest.mark.parametrize("damaged", [b"", b"garbage", b"{}"[:1], b"\xff\xfe", b'{"current": {"number": "many"}}'])
async def test_a_damaged_pointer_is_said_with_its_file_and_what_to_do(damaged: bytes, tmp_path: Path) -> None:
    (tmp_path / "current").write_bytes(damaged)
    with pytest.raises(ValueError, match="is damaged: it does not say which tables are served") as error:
        await open_generations(str(tmp_path)).read_active()
    assert str(error.value).startswith(f"{tmp_path}/current ")


async def test_the_size_of_a_generation_counts_its_own_tables(tmp_path: Path) -> None:
    _made(tmp_path, 0, 1)
    generations = open_generations(str(tmp_path))
    assert await generations.size(Generation(number=0)) == await generations.size(Generation(number=1)) == 4
