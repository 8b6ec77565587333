"""Authentication by bearer key, and the dependencies by which routes require access."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from api.dependencies import idempotency
from api.dependencies.app_state import AppState, CurrentAppState
from api.errors.http_errors import ForbiddenError, TooManyRequestsError, UnauthorizedError
from api.policies.api_keys import Principal
from api.policies.audit_log import AUDIT_FIELDS_SCOPE_KEY
from api.policies.monthly_quotas import QuotaUnit
from api.policies.token_bucket import RATE_LIMIT_SCOPE_KEY
from pipeline.runtime.fair_event_loop import yield_to_foreground
from schemas.limits import MAX_NAMESPACE_LENGTH, NAMESPACE_PATTERN

PRINCIPAL_SCOPE_KEY = "recollect.principal"
"""Key of the authenticated principal in the ASGI scope; absent while a request is not authenticated."""
_STATE_SCOPE_KEY = "recollect.state"

AddAuditFields = Callable[..., None]
"""Says what an act was about, as `name=value`, for the audit log."""


def _discard_audit_fields(**_: object) -> None:
    return None


NamespacePath = Annotated[str, Path(max_length=MAX_NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]


async def authenticate(request: Request) -> Principal:
    """The principal of a request. Called by the route before the body is read."""
    given = request.headers.get("authorization")
    if given is None:
        raise UnauthorizedError("No API key", "Send the header `Authorization: Bearer <key>`.")
    scheme, _, secret = given.partition(" ")
    state = app_state(request)
    await asyncio.gather(state.settings_lock.refresh_if_available(), state.submissions.refresh_if_available())
    principal = state.keyring.authenticate(secret.strip(), state.clock.now())
    if scheme.lower() != "bearer" or principal is None:
        raise UnauthorizedError("The API key is not valid", "It is wrong, expired or revoked.")
    request.scope[PRINCIPAL_SCOPE_KEY] = principal
    idempotency.set_request_key(request.headers.get(idempotency.HEADER))
    _enforce_rate_limit(request, state, principal)
    return principal


def _enforce_rate_limit(request: Request, state: AppState, principal: Principal) -> None:
    pace = state.policies.rate_limiter.acquire(principal.id, principal.rate_limit)
    if pace is None:
        return
    request.scope[RATE_LIMIT_SCOPE_KEY] = pace
    if not pace.allowed:
        raise TooManyRequestsError(f"More than {pace.limit:,} requests a minute", pace.reset_seconds)


def authenticated_principal(request: Request) -> Principal | None:
    """Return the authenticated principal; None on public routes."""
    principal: Principal | None = request.scope.get(PRINCIPAL_SCOPE_KEY)
    return principal


@dataclass(frozen=True, slots=True)
class NamespaceAccess:
    """Permission to work on one namespace, with the application state."""

    state: AppState
    principal: Principal
    namespace: str
    add_audit_fields: AddAuditFields = _discard_audit_fields

    def require_quota(self, unit: QuotaUnit, requested: int = 1) -> None:
        """Raise UsedUpError (402) unless the key and the organization have enough left this month."""
        families = self.state.key_tree.families(self.principal.id)
        self.state.policies.quotas.require(self.principal, self.state.clock, unit, requested, families)

    def require_document_quota(self, documents: int) -> None:
        """Raise UsedUpError (402) unless so many more documents may be added this month."""
        self.require_quota("documents", documents)

    def count_usage(self, *, documents: int = 0, searches: int = 0) -> None:
        """Add to the key's usage."""
        self.state.policies.quotas.count(self.principal, self.state.clock, documents=documents, searches=searches)


@dataclass(frozen=True, slots=True)
class AuthenticatedCaller:
    """A caller with a valid key, with the application state."""

    state: AppState
    principal: Principal
    add_audit_fields: AddAuditFields = _discard_audit_fields


def app_state(request: Request) -> AppState:
    """Return the application state of a request; the same one until its end."""
    serving: CurrentAppState = request.app.state.recollect
    state: AppState = request.scope.setdefault(_STATE_SCOPE_KEY, serving.state)
    return state


async def _app_state(request: Request) -> AppState:
    return app_state(request)


async def _authenticated_caller(request: Request) -> AuthenticatedCaller:
    principal = authenticated_principal(request)
    if principal is None:
        principal = await authenticate(request)
    notes = request.scope.setdefault(AUDIT_FIELDS_SCOPE_KEY, {})
    return AuthenticatedCaller(app_state(request), principal, notes.update)


async def _require_admin(request: Request) -> AuthenticatedCaller:
    entry = await _authenticated_caller(request)
    if not entry.principal.is_admin:
        raise ForbiddenError("This needs an admin key", f"The key's role is {entry.principal.role}.")
    return entry


async def _require_operator(request: Request) -> AuthenticatedCaller:
    entry = await _require_admin(request)
    if not entry.principal.is_operator:
        scope = ", ".join(entry.principal.namespaces or ())[:200]
        raise ForbiddenError("This needs an admin key for all namespaces", f"The key is for {scope}.")
    return entry


async def _require_read_access(request: Request, namespace: NamespacePath) -> NamespaceAccess:
    entry = await _authenticated_caller(request)
    if not entry.principal.may_read(namespace):
        raise ForbiddenError("The key does not open this namespace", f"namespace: {namespace}")
    return NamespaceAccess(entry.state, entry.principal, namespace, entry.add_audit_fields)


async def _require_write_access(request: Request, namespace: NamespacePath) -> NamespaceAccess:
    access = await _require_read_access(request, namespace)
    require_write_permission(access.principal, namespace)
    # A search takes some milliseconds, which what changes something can wait.
    await yield_to_foreground()
    return access


def require_write_permission(principal: Principal, namespace: str) -> None:
    """ForbiddenError unless the key may change the namespace."""
    if not principal.may_write(namespace):
        raise ForbiddenError("The key may not write here", f"namespace: {namespace}, the key's role: {principal.role}")


AppStateDependency = Annotated[AppState, Depends(_app_state)]
AnyKey = Annotated[AuthenticatedCaller, Depends(_authenticated_caller)]
OperatorKey = Annotated[AuthenticatedCaller, Depends(_require_operator)]
AdminKey = Annotated[AuthenticatedCaller, Depends(_require_admin)]
ReadAccess = Annotated[NamespaceAccess, Depends(_require_read_access)]
WriteAccess = Annotated[NamespaceAccess, Depends(_require_write_access)]
