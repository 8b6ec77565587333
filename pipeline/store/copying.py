"""Rows from one generation's table to another's, group by group, within bounded memory."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from pipeline.store.codec import among
from pipeline.store.readable import Readable

Row = TypeVar("Row")
Change = Callable[[list[Row]], Awaitable[list[Row]]]
GROUPS = 1024


async def copied(
    source: Readable[Row], target: Readable[Row], spaces: Sequence[str], change: Change[Row]
) -> AsyncIterator[int]:
    """Copy what is in these spaces; after each portion, how many groups it had.

    `change` makes the new rows of a portion. A group that is gone by the time it is read is left out.
    """
    group = source.codec.group
    overlay, base = await source.scan(spaces, among("space", spaces), [group])
    fresh = (source.codec.group_of(row) for row in source.unflushed(overlay, spaces))
    groups = sorted({*base.column(group).to_pylist(), *fresh})
    for begin in range(0, len(groups), GROUPS):
        found = await source.get(groups[begin : begin + GROUPS])
        rows = await change([row for members in found.values() for row in members])
        portion = target.codec.grouped(rows)
        await target.update(list(portion), lambda one, _, rows=portion: rows[one])  # type: ignore[misc]  # bound now
        yield len(found)
