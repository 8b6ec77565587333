"""How much came into namespaces on each of the last days."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from api.state import State
from pipeline.rows import NamespaceRow
from schemas.http.growth import GrowthAnswer, NamespaceGrowth

_DAY = 86_400_000_000
"""Microseconds."""
_EPOCH = date(1970, 1, 1).toordinal()
Times = Mapping[str, NDArray[np.int64]]


async def grown(state: State, rows: Sequence[NamespaceRow], days: int) -> GrowthAnswer:
    """Documents and memories of these namespaces by the day on which they came to be."""
    today = state.clock.now().date()
    shown = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    since = datetime.combine(shown[0], time(), UTC)
    first = (shown[0].toordinal() - _EPOCH) * _DAY
    spaces = list(chain.from_iterable(row.spaces for row in rows))
    documents = await state.documents.created(spaces, since)
    memories = await state.memories.created(spaces, since)
    return GrowthAnswer(
        days=[day.isoformat() for day in shown],
        namespaces=[
            NamespaceGrowth(
                namespace=row.name,
                documents=_by_day(documents, row, first, days),
                memories=_by_day(memories, row, first, days),
            )
            for row in rows
        ],
    )


def _by_day(times: Times, row: NamespaceRow, first: int, days: int) -> list[int]:
    mine = np.concatenate([times[space] for space in row.spaces if space in times] or [np.zeros(0, np.int64)])
    day = (mine - first) // _DAY
    counted: list[int] = np.bincount(day[(day >= 0) & (day < days)], minlength=days).tolist()
    return counted
