"""API key administration, and the caller's own key (extension of the contract)."""

from datetime import datetime, timedelta
from typing import Any

from fastapi import APIRouter

from api.dependencies.authentication import AdminKey, AnyKey, AuthenticatedCaller
from api.dependencies.path_and_query_parameters import ResourcePath
from api.errors.http_errors import BadRequestError, ConflictError, ForbiddenError, NotFoundError
from api.policies import api_keys, key_delegation
from api.policies.key_delegation import Grant
from api.presenters import resource_presenter
from api.routes.contract_route import ContractRoute, error_responses
from schemas.events import KeyChanged
from schemas.http.extensions import api_key_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/admin", tags=["Administration"])


@router.post("/keys", status_code=201)
async def create_api_key(caller: AdminKey, body: bodies.KeyCreateBody) -> bodies.KeyIssued:
    """Issue a key within the caller's scope. Only this response contains its secret."""
    state, now = caller.state, caller.state.clock.now()
    if not caller.principal.may_issue(body.namespaces):
        own = ", ".join(caller.principal.namespaces or ())[:200]
        raise ForbiddenError("The new key would exceed your key's scope", f"Your key is for {own}.")
    grant = _grant(caller)
    limits = grant.inherited(
        _row_fields(body.model_dump(exclude={"name", "role", "scopes", "namespaces"}), body.role, now)
    )
    scopes = _new_scopes(body, grant)
    _require_within(grant, {**limits, "scopes": scopes})
    change, secret = api_keys.create_key(
        body.name,
        body.role,
        body.namespaces,
        now=now,
        issuer=caller.principal.id,
        scopes=_stored_scopes(scopes, body.role),
        **limits,
    )
    await api_keys.publish_keys([change], state.publisher, state.settings_lock)
    scope = "all" if change.namespaces is None else ",".join(change.namespaces)
    caller.add_audit_fields(id=change.id, name=change.name, role=change.role, namespaces=scope)
    if change.scopes is not None:
        caller.add_audit_fields(scopes=",".join(change.scopes))
    return bodies.KeyIssued(**dict(_key_response(caller, change)), key=secret)


@router.get("/keys")
async def list_keys(caller: AdminKey) -> bodies.KeysResponse:
    """List the keys within the caller's scope, newest first, without their secrets."""
    rows = sorted(caller.state.catalog.keys(), key=lambda row: (row.created_at, row.id), reverse=True)
    return bodies.KeysResponse(
        keys=[_key_response(caller, row) for row in rows if caller.principal.may_issue(row.namespaces)]
    )


@router.patch("/keys/{id}", responses=error_responses(400, 401, 403, 404, 409, 500))
async def update_api_key(caller: AdminKey, id: ResourcePath, body: bodies.KeyPatch) -> bodies.KeyResponse:
    """Change a key's name, scopes, limits and expiry; its secret, role and namespaces stay."""
    state = caller.state
    async with state.settings_lock.acquire(api_keys.KEYS_LOCK):
        row, now = _require_active_key(caller, id), state.clock.now()
        fields = _row_fields(body.model_dump(exclude_unset=True), row.role, now)
        _require_scopes_of_role(fields, row.role)
        _require_within(_grant(caller), fields)
        if not _may_enlarge(caller, row) and Grant.of_row(row, _default_grant(caller)).refusal(fields) is not None:
            raise ForbiddenError("Your key did not issue this key", "It may take from it, not give it more.")
        if "scopes" in fields:
            fields["scopes"] = _stored_scopes(fields["scopes"], row.role)
        changed = row.model_copy(update={**fields, "changed_at": now})
        await api_keys.publish_keys([changed], state.publisher, state.settings_lock)
    caller.add_audit_fields(**body.model_dump(exclude_unset=True, by_alias=True))
    return _key_response(caller, changed)


@router.post("/keys/{id}/rotate", responses=error_responses(400, 401, 403, 404, 409, 500))
async def rotate_api_key(caller: AdminKey, id: ResourcePath, body: bodies.KeyRotationBody) -> bodies.KeyIssued:
    """Rotate a key's secret; the previous secret stays valid for the overlap."""
    state = caller.state
    async with state.settings_lock.acquire(api_keys.KEYS_LOCK):
        row, now = _require_active_key(caller, id), state.clock.now()
        overlap, expires_at = timedelta(hours=body.overlap_hours), api_keys.expiry(now, body.expires_in_days)
        _require_own_key(caller, row)
        # The caller gets the secret, and with it all that the key may.
        after = key_delegation.limits_of(row) | ({} if expires_at is None else {"expires_at": expires_at})
        _require_within(_grant(caller), after)
        change, secret = api_keys.rotate_secret(row, now=now, overlap=overlap, expires_at=expires_at)
        await api_keys.publish_keys([change], state.publisher, state.settings_lock)
    caller.add_audit_fields(overlapHours=body.overlap_hours)
    return bodies.KeyIssued(**dict(_key_response(caller, change)), key=secret)


@router.delete("/keys/{id}", responses=error_responses(400, 401, 403, 404, 500))
async def revoke_api_key(caller: AdminKey, id: ResourcePath) -> bodies.KeyRevoked:
    """Revoke a key, and every key that it issued, itself or through others."""
    state = caller.state
    async with state.settings_lock.acquire(api_keys.KEYS_LOCK):
        row, now = _require_changeable_key(caller, id), state.clock.now()
        ended = (row, *key_delegation.issued_by(row, state.catalog.keys()))
        revoked = [api_keys.revoke_key(each, now) for each in ended]
        await api_keys.publish_keys(revoked, state.publisher, state.settings_lock)
    return bodies.KeyRevoked(id=id, revoked=True)


@router.get("/whoami", responses=error_responses(400, 401, 500))
async def whoami(caller: AnyKey) -> bodies.CallerResponse:
    """Return the caller's key and its permissions."""
    return resource_presenter.caller_response(caller.principal, caller.state.catalog.key(caller.principal.id))


def _require_active_key(caller: AuthenticatedCaller, id: str) -> KeyChanged:
    row = _require_changeable_key(caller, id)
    if api_keys.is_inactive(row, caller.state.clock.now()):
        raise ConflictError("The key is revoked or expired", "Issue a new key.")
    return row


def _require_changeable_key(caller: AuthenticatedCaller, id: str) -> KeyChanged:
    row = _require_key(caller, id)
    if key_delegation.is_issuer_of(row.id, caller.principal.id, caller.state.catalog.keys()):
        raise ForbiddenError("Your key can't change the key that issued it", "Ask whoever holds that key.")
    return row


def _require_own_key(caller: AuthenticatedCaller, row: KeyChanged) -> None:
    if not _may_enlarge(caller, row):
        raise ForbiddenError(
            "Your key did not issue this key",
            "Revoke it and issue another, or ask whoever holds RECOLLECT_ADMIN_KEY.",
        )


def _may_enlarge(caller: AuthenticatedCaller, row: KeyChanged) -> bool:
    return key_delegation.may_enlarge(caller.principal, row, caller.state.catalog.keys())


def _grant(caller: AuthenticatedCaller) -> Grant:
    return key_delegation.grant_of(caller.principal, _default_grant(caller))


def _default_grant(caller: AuthenticatedCaller) -> Grant:
    policies = caller.state.policies
    quota = policies.quotas.default_key_quota
    return Grant(
        rate_limit=policies.rate_limiter.default_limit,
        monthly_documents=quota.documents,
        monthly_searches=quota.searches,
    )


def _row_fields(fields: dict[str, Any], role: bodies.Role, now: datetime) -> dict[str, Any]:
    """Return the fields of a body as the row has them: a moment instead of `expires_in_days`, a set of scopes."""
    found = dict(fields)
    if "expires_in_days" in found:
        found["expires_at"] = api_keys.expiry(now, found.pop("expires_in_days"))
    if "scopes" in found:
        found["scopes"] = bodies.ROLE_SCOPES[role] if found["scopes"] is None else frozenset(found["scopes"])
    return found


def _new_scopes(body: bodies.KeyCreateBody, grant: Grant) -> frozenset[str]:
    """Return the scopes of a new key: those asked for, or those of its role that the issuer has."""
    if body.scopes is not None:
        return frozenset(body.scopes)
    found = bodies.ROLE_SCOPES[body.role] & grant.scopes
    if not found:
        raise ForbiddenError(
            "The key would get more than your key has", f"Your key has no scope of the role {body.role}."
        )
    return found


def _stored_scopes(scopes: frozenset[str], role: bodies.Role) -> tuple[str, ...] | None:
    """Return the scopes as the row has them; None: those of the role."""
    return None if scopes == bodies.ROLE_SCOPES[role] else tuple(sorted(scopes))


def _require_scopes_of_role(fields: dict[str, Any], role: bodies.Role) -> None:
    if beyond := sorted(fields.get("scopes", frozenset()) - bodies.ROLE_SCOPES[role]):
        raise BadRequestError("The key's role does not allow this", f"The role {role} has no {' or '.join(beyond)}.")


def _key_response(caller: AuthenticatedCaller, row: KeyChanged) -> bodies.KeyResponse:
    issuers = api_keys.issuers_of(row.id, caller.state.catalog.key)
    return resource_presenter.key_response(row, api_keys.principal_from_row(row, issuers).granted)


def _require_within(grant: Grant, fields: dict[str, Any]) -> None:
    refusal = grant.refusal(fields)
    if refusal is not None:
        raise ForbiddenError("The key would get more than your key has", refusal)


def _require_key(caller: AuthenticatedCaller, id: str) -> KeyChanged:
    row = caller.state.catalog.key(id)
    if row is None or not caller.principal.may_issue(row.namespaces):
        raise NotFoundError("Key not found", f"There is no key {id[:100]!r}.")
    return row
