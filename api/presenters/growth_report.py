"""Daily growth of namespaces."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from api.dependencies.app_state import AppState
from pipeline.rows import NamespaceRow
from schemas.http.extensions.operations_bodies import GrowthResponse, NamespaceGrowth

_DAY_MICROSECONDS = 86_400_000_000
_UNIX_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
CreationTimes = Mapping[str, NDArray[np.int64]]


async def growth_report(state: AppState, rows: Sequence[NamespaceRow], days: int) -> GrowthResponse:
    """Count the documents and memories of namespaces by the day of their creation."""
    today = state.clock.now().date()
    dates = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    since = datetime.combine(dates[0], time(), UTC)
    first = (dates[0].toordinal() - _UNIX_EPOCH_ORDINAL) * _DAY_MICROSECONDS
    incarnations = list(chain.from_iterable(row.incarnations for row in rows))
    documents = await state.documents.created_since(incarnations, since)
    memories = await state.memories.created_since(incarnations, since)
    return GrowthResponse(
        days=[day.isoformat() for day in dates],
        namespaces=[
            NamespaceGrowth(
                namespace=row.name,
                documents=_count_by_day(documents, row, first, days),
                memories=_count_by_day(memories, row, first, days),
            )
            for row in rows
        ],
    )


def _count_by_day(times: CreationTimes, row: NamespaceRow, first_day_start: int, days: int) -> list[int]:
    created = np.concatenate(
        [times[incarnation] for incarnation in row.incarnations if incarnation in times] or [np.zeros(0, np.int64)]
    )
    day = (created - first_day_start) // _DAY_MICROSECONDS
    counted: list[int] = np.bincount(day[(day >= 0) & (day < days)], minlength=days).tolist()
    return counted
