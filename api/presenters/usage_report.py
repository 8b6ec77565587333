"""Monthly usage of keys, for administrators."""

from api.dependencies.app_state import AppState
from api.policies.api_keys import OPERATOR_KEY_ID, Principal, principal_from_row
from api.policies.monthly_quotas import MonthlyQuota
from pipeline.usage_counter import UsageCounts
from schemas.http.extensions.operations_bodies import KeyUsage, QuotaUsage, UsageResponse


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
    quota: MonthlyQuota = state.policies.quotas.key_quota(principal)
    return KeyUsage(
        id=principal.id,
        name=name,
        documents=QuotaUsage(used=counts.documents, limit=quota.documents),
        searches=QuotaUsage(used=counts.searches, limit=quota.searches),
        bytes=QuotaUsage(used=counts.bytes, limit=quota.bytes),
        tokens=QuotaUsage(used=counts.tokens, limit=quota.tokens),
        rate_limit=principal.rate_limit or state.policies.rate_limiter.default_limit,
    )
