"""Which generation of tables is served, and what happens to the others."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.store.generations import Generation, Recipe, Served, generations_at

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RECIPE = Recipe(embedder="none", embedder_model="m", embedder_dimensions=1, chunk_size=100, shards=1)


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


async def test_where_nothing_was_ever_replayed_the_folder_itself_is_served(tmp_path: Path) -> None:
    generations = generations_at(str(tmp_path))
    served = await generations.served()
    assert served == Served(current=Generation(number=0), previous=None)
    assert generations.uri(served.current) == str(tmp_path)


async def test_what_is_served_is_what_was_said_last(tmp_path: Path) -> None:
    generations = generations_at(str(tmp_path))
    old = Generation(number=0, offsets={"documents.submitted.v1": {0: 7}})
    new = await generations.begin(RECIPE, NOW)
    await generations.serve(new, old)
    assert await generations_at(str(tmp_path)).served() == Served(current=new, previous=old)
    assert generations.uri(new) == str(tmp_path / "g1")


async def test_a_new_one_has_a_number_that_nobody_has(tmp_path: Path) -> None:
    generations = generations_at(str(tmp_path))
    first = await generations.begin(RECIPE, NOW)
    await generations.serve(first, Generation(number=0))
    second = await generations.begin(RECIPE, NOW)
    await generations.serve(first, second)  # rolled back
    third = await generations.begin(RECIPE, NOW)
    assert [one.number for one in (first, second, third)] == [1, 2, 3]


async def test_what_no_replay_finished_and_what_is_older_than_the_previous_one_goes(tmp_path: Path) -> None:
    _made(tmp_path, 0, 1, 2, 3)
    generations = generations_at(str(tmp_path))
    await generations.serve(Generation(number=1), Generation(number=0))
    assert await generations.sweep() == [2, 3]
    assert _there(tmp_path) == {".", "g1"}
    _made(tmp_path, 2)
    await generations.serve(Generation(number=2), Generation(number=1))
    assert await generations.sweep() == []
    assert _there(tmp_path) == {"g1", "g2"}


async def test_the_tables_of_before_are_kept_while_nothing_else_is_served(tmp_path: Path) -> None:
    _made(tmp_path, 0, 1)
    assert await generations_at(str(tmp_path)).sweep() == [1]
    assert _there(tmp_path) == {"."}


async def test_a_pointer_that_was_being_written_changes_nothing(tmp_path: Path) -> None:
    generations = generations_at(str(tmp_path))
    await generations.serve(Generation(number=1), None)
    (tmp_path / "current.half").write_text("{")
    assert (await generations.served()).current.number == 1


async def test_the_size_is_that_of_its_own_tables(tmp_path: Path) -> None:
    _made(tmp_path, 0, 1)
    generations = generations_at(str(tmp_path))
    assert await generations.size(Generation(number=0)) == await generations.size(Generation(number=1)) == 4
