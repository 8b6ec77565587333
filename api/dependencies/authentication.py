"""Authentication by bearer key, and the dependencies by which routes require access."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.dependencies.models import Dependant

from api.dependencies import idempotency
from api.dependencies.app_state import STALE_SCOPE_KEY, AppState, CurrentAppState
from api.errors.http_errors import ForbiddenError, TooManyRequestsError, UnauthorizedError
from api.policies.api_keys import Principal
from api.policies.audit_log import AUDIT_FIELDS_SCOPE_KEY
from api.policies.monthly_quotas import QuotaUnit
from api.policies.recall_log import READ_NAMESPACES_SCOPE_KEY
from api.policies.token_bucket import RATE_LIMIT_SCOPE_KEY
from pipeline.runtime.fair_event_loop import yield_to_foreground
from pipeline.usage_counter import UsageCounts
from schemas.http.extensions.api_key_bodies import ROLE_SCOPES, Scope
from schemas.limits import MAX_NAMESPACE_LENGTH, NAMESPACE_PATTERN

PRINCIPAL_SCOPE_KEY = "recollect.principal"
"""Key of the authenticated principal in the ASGI scope; absent while a request is not authenticated."""
_STATE_SCOPE_KEY = "recollect.state"

_REFUSALS: Mapping[Scope, str] = {
    "read": "The key may not read",
    "write": "The key may not write here",
    "forget": "The key may not forget or delete",
    "connect": "The key may not change connectors",
    "admin": "This needs an admin key",
}
_CHANGING_SCOPES: frozenset[Scope] = frozenset({"write", "forget", "connect"})

AddAuditFields = Callable[..., None]
"""Says what an act was about, as `name=value`, for the audit log."""


def _discard_audit_fields(*_: object, **__: object) -> None:
    return None


NamespacePath = Annotated[str, Path(max_length=MAX_NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]


async def authenticate(request: Request) -> Principal:
    """The principal of a request. Called by the route before the body is read."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise UnauthorizedError("No API key", "Send the header `Authorization: Bearer <key>`.")
    state = app_state(request)
    shown = await asyncio.gather(state.settings_lock.refresh_if_available(), state.submissions.refresh_if_available())
    request.scope[STALE_SCOPE_KEY] = not all(shown)
    principal = state.keyring.authenticate(secret.strip(), state.clock.now())
    if principal is None:
        raise UnauthorizedError("The API key is not valid", "It is wrong, expired or revoked.")
    request.scope[PRINCIPAL_SCOPE_KEY] = principal
    idempotency.set_request_key(request.headers.get(idempotency.HEADER))
    _enforce_rate_limit(request, state, principal)
    return principal


def _enforce_rate_limit(request: Request, state: AppState, principal: Principal) -> None:
    heads = ((row.id, row.rate_limit) for row in state.key_tree.heads_above(principal.id))
    pace = state.policies.rate_limiter.acquire(principal.id, principal.rate_limit, heads)
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

    def require_document_quota(self, documents: int, size: int) -> None:
        """Raise QuotaExceededError (402) unless so many more documents, of so many bytes, may be added this month."""
        self.require_quota("documents", documents)
        self.require_quota("bytes", size)

    def count_usage(self, *, documents: int = 0, searches: int = 0, size: int = 0) -> None:
        """Add to the key's usage; `size` in bytes."""
        counts = UsageCounts(documents, searches, size)
        self.state.policies.quotas.count(self.principal, self.state.clock, counts)


@dataclass(frozen=True, slots=True)
class AuthenticatedCaller:
    state: AppState
    principal: Principal
    add_audit_fields: AddAuditFields = _discard_audit_fields
    note_read: Callable[[str], None] = _discard_audit_fields
    """Says which namespace an answer is about, for its recall log."""


def require_coverage(principal: Principal, namespace: str) -> None:
    """Raise ForbiddenError if the key is not for the namespace."""
    if not principal.covers(namespace):
        raise ForbiddenError("The key does not open this namespace", f"namespace: {namespace}")


def require_scopes(principal: Principal, scopes: Iterable[Scope]) -> None:
    """Raise ForbiddenError if the key lacks one of the scopes."""
    for scope in sorted(scopes):
        if scope not in principal.granted:
            held = "" if principal.scopes == ROLE_SCOPES[principal.role] else f", its scopes: {_listed(principal)}"
            raise ForbiddenError(_REFUSALS[scope], f"The key's role is {principal.role}{held}.")


def _listed(principal: Principal) -> str:
    return ", ".join(sorted(principal.granted)) or "none"


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
    read = request.scope.setdefault(READ_NAMESPACES_SCOPE_KEY, [])
    return AuthenticatedCaller(app_state(request), principal, notes.update, read.append)


@dataclass(frozen=True, slots=True)
class RequireScopes:
    """Dependency of routes that name no namespace in their path: a key with these scopes, or `any_of` them."""

    scopes: frozenset[Scope] = frozenset()
    any_of: bool = False
    all_namespaces: bool = False
    """Only a key for all namespaces will do."""

    async def __call__(self, request: Request) -> AuthenticatedCaller:
        """Return the caller; ForbiddenError if its key lacks the scopes."""
        caller = await _authenticated_caller(request)
        self.check(caller.principal)
        if self.all_namespaces and caller.principal.namespaces is not None:
            scope = ", ".join(caller.principal.namespaces)[:200]
            raise ForbiddenError("This needs an admin key for all namespaces", f"The key is for {scope}.")
        await self.yield_to_searches()
        return caller

    def check(self, principal: Principal) -> None:
        """Raise ForbiddenError if the key lacks the scopes."""
        if not (self.any_of and self.scopes & principal.granted):
            require_scopes(principal, self.scopes)

    async def yield_to_searches(self) -> None:
        """Let waiting searches run before a request that changes something: each takes some milliseconds."""
        if not self.any_of and self.scopes & _CHANGING_SCOPES:
            await yield_to_foreground()


@dataclass(frozen=True, slots=True)
class RequireScopesInNamespace:
    """Dependency of routes on one namespace: a key for it that `requirement` lets pass."""

    requirement: RequireScopes

    async def __call__(self, request: Request, namespace: NamespacePath) -> NamespaceAccess:
        """Return the access; ForbiddenError if the key is not for the namespace, or lacks the scopes."""
        caller = await _authenticated_caller(request)
        require_coverage(caller.principal, namespace)
        self.requirement.check(caller.principal)
        await self.requirement.yield_to_searches()
        caller.note_read(namespace)
        return NamespaceAccess(caller.state, caller.principal, namespace, caller.add_audit_fields)


def required_scopes(dependant: Dependant) -> frozenset[Scope]:
    """Return the scopes that all keys need for the routes with these dependencies."""
    found: frozenset[Scope] = frozenset()
    for dependency in dependant.dependencies:
        call = dependency.call
        requirement = call.requirement if isinstance(call, RequireScopesInNamespace) else call
        if isinstance(requirement, RequireScopes) and not requirement.any_of:
            found |= requirement.scopes
    return found


def _require(*scopes: Scope, any_of: bool = False) -> Any:
    return Depends(RequireScopes(frozenset(scopes), any_of=any_of))


def _require_in_namespace(*scopes: Scope, any_of: bool = False) -> Any:
    return Depends(RequireScopesInNamespace(RequireScopes(frozenset(scopes), any_of=any_of)))


def _require_operator(*scopes: Scope) -> Any:
    return Depends(RequireScopes(frozenset({"admin", *scopes}), all_namespaces=True))


AppStateDependency = Annotated[AppState, Depends(_app_state)]
AnyKey = Annotated[AuthenticatedCaller, _require()]
ReadKey = Annotated[AuthenticatedCaller, _require("read")]
WriteKey = Annotated[AuthenticatedCaller, _require("write")]
ForgetKey = Annotated[AuthenticatedCaller, _require("forget")]
ForgetAndReadKey = Annotated[AuthenticatedCaller, _require("forget", "read")]
MoveKey = Annotated[AuthenticatedCaller, _require("forget", "write")]
SeeConnectorsKey = Annotated[AuthenticatedCaller, _require("read", "connect", any_of=True)]
ConnectKey = Annotated[AuthenticatedCaller, _require("connect")]
AdminKey = Annotated[AuthenticatedCaller, _require("admin")]
OperatorKey = Annotated[AuthenticatedCaller, _require_operator()]
ReadingOperatorKey = Annotated[AuthenticatedCaller, _require_operator("read")]
WritingOperatorKey = Annotated[AuthenticatedCaller, _require_operator("write")]
ForgettingOperatorKey = Annotated[AuthenticatedCaller, _require_operator("forget")]
ConnectingOperatorKey = Annotated[AuthenticatedCaller, _require_operator("connect")]
AdminAccess = Annotated[NamespaceAccess, _require_in_namespace("admin")]
ReadAccess = Annotated[NamespaceAccess, _require_in_namespace("read")]
WriteAccess = Annotated[NamespaceAccess, _require_in_namespace("write")]
ForgetAccess = Annotated[NamespaceAccess, _require_in_namespace("forget")]
ForgetAndReadAccess = Annotated[NamespaceAccess, _require_in_namespace("forget", "read")]
RedactAccess = Annotated[NamespaceAccess, _require_in_namespace("forget", "read", "write")]
ConnectAccess = Annotated[NamespaceAccess, _require_in_namespace("connect")]
SubscribeAccess = Annotated[NamespaceAccess, _require_in_namespace("connect", "read")]
SeeConnectorsAccess = Annotated[NamespaceAccess, _require_in_namespace("read", "connect", any_of=True)]
