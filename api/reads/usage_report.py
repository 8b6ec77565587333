"""Monthly usage of keys, for administrators."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from api.dependencies.app_state import AppState
from api.policies.api_keys import OPERATOR_KEY_ID, Principal, principal_from_row
from api.policies.monthly_quotas import QuotaUnit
from pipeline.rows import NamespaceRow
from pipeline.usage_counter import UsageCounts
from schemas.http.extensions.operations_bodies import (
    GrowthResponse,
    KeyUsage,
    NamespaceGrowth,
    QuotaUsage,
    UsageResponse,
)

_DAY_MICROSECONDS = 86_400_000_000
_UNIX_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
CreationTimes = Mapping[str, NDArray[np.int64]]


def usage_response(state: AppState, principal: Principal, month: str) -> UsageResponse:
    """Report the usage of the keys within the caller's scope: active keys, and revoked keys with usage."""
    policies = state.policies
    counted = policies.quotas.usage.by_key(month)
    issued = state.catalog.keys()
    rows = [row for row in issued if principal.may_issue(row.namespaces)]
    keys = [
        _key_usage(state, principal_from_row(row), row.name, counted.get(row.id, UsageCounts()))
        for row in rows
        if row.revoked_at is None or row.id in counted
    ]
    if principal.is_operator and OPERATOR_KEY_ID in counted:
        keys.append(
            _key_usage(state, Principal(OPERATOR_KEY_ID, "admin"), "RECOLLECT_ADMIN_KEY", counted[OPERATOR_KEY_ID])
        )
    total, limit = policies.quotas.usage.total(month), policies.quotas.organization_quota
    return UsageResponse(
        month=month,
        documents=QuotaUsage(used=total.documents, limit=limit.documents) if principal.is_operator else None,
        searches=QuotaUsage(used=total.searches, limit=limit.searches) if principal.is_operator else None,
        keys=keys,
    )


def _key_usage(state: AppState, principal: Principal, name: str, counts: UsageCounts) -> KeyUsage:
    quota = state.policies.quotas.key_quota(principal)
    return KeyUsage(
        id=principal.id,
        name=name,
        **{unit: QuotaUsage(used=getattr(counts, unit), limit=getattr(quota, unit)) for unit in get_args(QuotaUnit)},
        rate_limit=principal.rate_limit or state.policies.rate_limiter.default_limit,
    )


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
