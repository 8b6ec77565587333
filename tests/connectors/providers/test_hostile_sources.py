"""Whatever a source answers, each item arrives or fails with a reason; the run goes on, and the next mends it."""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.connectors.hostile_sources import SOURCES


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_every_item_arrives_or_fails_and_arrives_once_the_source_is_well(name: str, seed: int) -> None:
    async def runs() -> None:
        source = SOURCES[name](seed)
        assert await source.lost() == []
        assert source.removals == []
        assert all(failure.message for failure in source.sync.failures.values())
        source.app.is_hostile = False
        await source.sync.run(source.provider, source.connection)
        assert set(source.ids) <= source.sync.items.keys()

    anyio.run(runs)


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_items_that_arrived_before_stay_while_the_source_is_ill(name: str, seed: int) -> None:
    async def runs() -> None:
        source = SOURCES[name](seed)
        source.app.is_hostile = False
        assert await source.lost() == []
        source.app.is_hostile = True
        source.sync.cursor, source.sync.full_sync = None, True
        await source.sync.run(source.provider, source.connection)
        assert set(source.ids) <= source.sync.items.keys()

    anyio.run(runs)
