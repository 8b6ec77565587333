"""What keys used in a month, for those who issue them."""

from api.keys import ADMIN_ID, Principal, principal_of
from api.quotas import Quota
from api.state import State
from pipeline.usage import Counts
from schemas.http.usage import KeyUsage, UsageAnswer, Used


def shown(state: State, principal: Principal, month: str) -> UsageAnswer:
    """Of every key within the scope of the one that asks: those that used something, or could."""
    guards = state.guards
    counted = guards.quotas.usage.by_key(month)
    issued = state.catalog.keys()
    rows = [row for row in issued if principal.may_issue(row.namespaces)]
    keys = [
        _key(state, principal_of(row), row.name, counted.get(row.id, Counts()))
        for row in rows
        if row.revoked_at is None or row.id in counted
    ]
    if principal.is_operator and ADMIN_ID in counted:
        keys.append(_key(state, Principal(ADMIN_ID, "admin"), "RECOLLECT_ADMIN_KEY", counted[ADMIN_ID]))
    whole, limit = guards.quotas.usage.of_all(month), guards.quotas.organization
    return UsageAnswer(
        month=month,
        documents=Used(used=whole.documents, limit=limit.documents) if principal.is_operator else None,
        searches=Used(used=whole.searches, limit=limit.searches) if principal.is_operator else None,
        keys=keys,
    )


def _key(state: State, principal: Principal, name: str, used: Counts) -> KeyUsage:
    quota: Quota = state.guards.quotas.of(principal)
    return KeyUsage(
        id=principal.id,
        name=name,
        documents=Used(used=used.documents, limit=quota.documents),
        searches=Used(used=used.searches, limit=quota.searches),
        rate_limit=principal.rate_limit or state.guards.paces.default,
    )
