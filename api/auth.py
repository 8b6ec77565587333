"""Who may do what: the bearer key of a request, and the dependencies by which routes ask for access."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from api.audit import NOTES
from api.keys import Principal
from api.pace import PACE
from api.problems import ForbiddenError, TooManyRequestsError, UnauthorizedError
from api.quotas import Unit
from api.state import Serving, State
from pipeline.turns import step_back
from schemas.limits import NAMESPACE_LENGTH, NAMESPACE_PATTERN

_SCOPE_KEY = "recollect.principal"
_STATE_KEY = "recollect.state"

Note = Callable[..., None]
"""Says what an act was about, as `name=value`, for the audit log."""


def _no_note(**_: object) -> None:
    return None


NamespacePath = Annotated[str, Path(max_length=NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]


async def authenticate(request: Request) -> Principal:
    """The principal of a request. Called by the route before the body is read."""
    given = request.headers.get("authorization")
    if given is None:
        raise UnauthorizedError("No API key", "Send the header `Authorization: Bearer <key>`.")
    scheme, _, secret = given.partition(" ")
    state = state_of(request)
    await state.changes.glance()
    principal = state.keyring.principal(secret.strip(), state.clock.now())
    if scheme.lower() != "bearer" or principal is None:
        raise UnauthorizedError("The API key is not valid", "It is wrong, expired or revoked.")
    request.scope[_SCOPE_KEY] = principal
    _pace(request, state, principal)
    return principal


def _pace(request: Request, state: State, principal: Principal) -> None:
    pace = state.guards.paces.take(principal.id, principal.rate_limit)
    if pace is None:
        return
    request.scope[PACE] = pace
    if not pace.allowed:
        raise TooManyRequestsError(f"More than {pace.limit:,} requests a minute", pace.seconds)


def principal_of(request: Request) -> Principal | None:
    """Who was authenticated; None on routes that are open to all."""
    principal: Principal | None = request.scope.get(_SCOPE_KEY)
    return principal


@dataclass(frozen=True, slots=True)
class Access:
    """Permission to work on one namespace, and what to work with."""

    state: State
    principal: Principal
    namespace: str
    note: Note = _no_note

    def require(self, unit: Unit, wanted: int = 1) -> None:
        """UsedUpError (402) unless the key and the organization have so much left this month."""
        self.state.guards.quotas.require(self.principal, self.state.clock, unit, wanted)

    def count(self, *, documents: int = 0, searches: int = 0) -> None:
        """Add to what the key used."""
        self.state.guards.quotas.count(
            self.principal, self.state.clock, documents=documents, searches=searches
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A caller with a valid key, and what to work with."""

    state: State
    principal: Principal
    note: Note = _no_note


def state_of(request: Request) -> State:
    """What a request works with, from its beginning to its end."""
    serving: Serving = request.app.state.recollect
    state: State = request.scope.setdefault(_STATE_KEY, serving.state)
    return state


async def _parts(request: Request) -> State:
    return state_of(request)


async def _anyone(request: Request) -> Entry:
    principal = principal_of(request)
    if principal is None:
        principal = await authenticate(request)
    notes = request.scope.setdefault(NOTES, {})
    return Entry(state_of(request), principal, notes.update)


async def _key_admin(request: Request) -> Entry:
    entry = await _anyone(request)
    if not entry.principal.is_admin:
        raise ForbiddenError("This needs an admin key", f"The key's role is {entry.principal.role}.")
    return entry


async def _admin(request: Request) -> Entry:
    entry = await _key_admin(request)
    if not entry.principal.is_operator:
        scope = ", ".join(entry.principal.namespaces or ())[:200]
        raise ForbiddenError("This needs an admin key for all namespaces", f"The key is for {scope}.")
    return entry


async def _reader(request: Request, namespace: NamespacePath) -> Access:
    entry = await _anyone(request)
    if not entry.principal.may_read(namespace):
        raise ForbiddenError("The key does not open this namespace", f"namespace: {namespace}")
    return Access(entry.state, entry.principal, namespace, entry.note)


async def _writer(request: Request, namespace: NamespacePath) -> Access:
    access = await _reader(request, namespace)
    require_write(access.principal, namespace)
    # A search takes some milliseconds, which what changes something can wait.
    await step_back()
    return access


def require_write(principal: Principal, namespace: str) -> None:
    """ForbiddenError unless the key may change the namespace."""
    if not principal.may_write(namespace):
        raise ForbiddenError(
            "The key may not write here", f"namespace: {namespace}, the key's role: {principal.role}"
        )


Parts = Annotated[State, Depends(_parts)]
Anyone = Annotated[Entry, Depends(_anyone)]
Admin = Annotated[Entry, Depends(_admin)]
KeyAdmin = Annotated[Entry, Depends(_key_admin)]
Reader = Annotated[Access, Depends(_reader)]
Writer = Annotated[Access, Depends(_writer)]
