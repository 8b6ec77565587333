"""Connectors: each change is written to the log first; the engine takes up what is asked for from there."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from api.keys import Principal
from api.ports import Connectors, Offer
from api.problems import BadRequestError, ConflictError, ForbiddenError, NotFoundError, UnavailableError
from api.queries.namespaces import opened
from api.queries.present_connectors import connector, created
from api.state import State
from schemas.base import timestamp
from schemas.events import ConnectorChanged, ConnectorChoice
from schemas.http.connectors import (
    SECRET_FIELDS,
    Connector,
    ConnectorBody,
    ConnectorCreated,
    ConnectorPatch,
    Picker,
    SelectionBody,
)
from schemas.http.pagination import Pagination, pagination
from schemas.limits import CONNECTOR_DOCUMENTS

AUTHORIZE_FOR = timedelta(hours=1)
_DEFAULTS: Mapping[str, Mapping[str, str | float | bool]] = {
    "web-crawler": {"crawlDepth": 3},
    "google-drive": {"syncScope": "selected"},
    "onedrive": {"syncScope": "selected"},
}
"""What a config says where the caller did not."""


async def create(state: State, principal: Principal, namespace: str, body: ConnectorBody) -> ConnectorCreated:
    """Connect a source: at once, or as soon as somebody has authorized it."""
    connectors, offer = _offered(state, body.provider)
    given = body.model_dump(by_alias=True, exclude_unset=True)
    redirect_url = _redirect(given.get("redirectUrl"))
    config = {**_DEFAULTS.get(body.provider, {}), **given.get("config", {})}
    now = state.clock.now()
    row = ConnectorChanged(
        id=f"con_{uuid4().hex}",
        provider=body.provider,
        space=(await opened(state, namespace)).spaces[0],
        status="pending" if offer.authorizes else "active",
        config={name: value for name, value in config.items() if name not in SECRET_FIELDS} or None,
        document_limit=given.get("documentLimit", CONNECTOR_DOCUMENTS),
        authorize_until=now + AUTHORIZE_FOR if offer.authorizes else None,
        key=principal.id,
        created_at=now,
        updated_at=now,
    )
    if offer.authorizes:
        url = await connectors.authorize(row, redirect_url)
        await connectors.connections.save(row)
        return created(row, url)
    await connectors.keep(row.id, {name: config[name] for name in SECRET_FIELDS & config.keys()})
    await connectors.connections.save(row)
    await connectors.connections.trigger(row, "manual")
    return created(row, None)


async def page(
    state: State,
    principal: Principal,
    *,
    namespace: str | None,
    provider: str | None,
    number: int,
    limit: int,
) -> tuple[list[Connector], Pagination]:
    """Connectors that a key may read, newest first, without pending ones."""
    if state.connectors is None:
        return [], pagination(number, limit, 0)
    rows = [
        row
        for row in state.connectors.connections.catalog.connectors()
        if row.status == "active"
        and provider in {None, row.provider}
        and (owner := state.catalog.owner(row.space)) is not None
        and namespace in {None, owner.name}
        and principal.may_read(owner.name)
    ]
    shown = rows[(number - 1) * limit : number * limit]
    return [await _answer(state, row) for row in shown], pagination(number, limit, len(rows))


async def get(
    state: State,
    principal: Principal,
    namespace: str,
    id: str,  # noqa: A002 - the contract's word
    *,
    include: Collection[str],
    return_url: str | None,
) -> Connector:
    """A connector, with what else was asked for."""
    connectors, row = _found(state, namespace, id)
    answer = await _answer(state, row, syncs="syncs" in include)
    if row.status == "pending" and principal.may_write(namespace):
        url = await connectors.authorization(row)
        if url is not None:
            answer.authorization = created(row, url).authorization
    if "picker" in include:
        if not (principal.is_admin and principal.may_write(namespace)):
            raise ForbiddenError(
                "Selecting needs an admin key with write access", f"The key's role is {principal.role}."
            )
        answer.picker = await _picker(connectors, row, _redirect(return_url))
    return answer


async def update(state: State, namespace: str, id: str, patch: ConnectorPatch) -> Connector:  # noqa: A002
    """Select what is synchronised, or how much; what changes begins a run."""
    connectors, row = _found(state, namespace, id)
    offer = connectors.offer(row.provider)
    selection = None if patch.selection is None else _selection(row, offer, patch.selection)

    def change(before: ConnectorChanged) -> ConnectorChanged:
        wanted: dict[str, Any] = {}
        if selection is not None:
            wanted["selection"] = selection
        if patch.document_limit is not None and patch.document_limit != before.document_limit:
            wanted["document_limit"] = patch.document_limit
        if not wanted:
            return before
        return before.model_copy(update={**wanted, "revision": before.revision + 1})

    after = await connectors.connections.change(row.id, change)
    if after is None:
        raise _missing(id)
    if after.revision != row.revision and after.status == "active":
        await connectors.connections.trigger(after, "manual")
    return await _answer(state, after)


async def sync(state: State, namespace: str, id: str) -> None:  # noqa: A002 - the contract's word
    """Ask for a run; ConflictError while there is one."""
    connectors, row = _found(state, namespace, id)
    if row.status == "pending":
        raise ConflictError("Not authorized yet", "Somebody has to follow the authorization link first.")
    _offered(state, row.provider)
    async with connectors.connections.locks.hold(f"connector-ask/{row.id}"):
        if (await connectors.connections.runs(row.id)).running is not None:
            raise ConflictError("A sync is running already", f"connector: {row.id}")
        await connectors.connections.trigger(row, "manual")


async def delete(state: State, namespace: str, id: str, *, documents: bool) -> None:  # noqa: A002
    """Disconnect; the rest is cleaned up in the background."""
    connectors, row = _found(state, namespace, id)
    removed = await connectors.connections.change(
        row.id,
        lambda one: one.model_copy(update={"status": "removed", "keep_documents": not documents}),
    )
    if removed is not None:
        await connectors.connections.remove(removed)


def _selection(
    row: ConnectorChanged, offer: Offer | None, body: SelectionBody
) -> dict[str, tuple[ConnectorChoice, ...]]:
    """By id, with the names that are known; the rest are learned by the next run."""
    given: dict[str, list[str]] = body.model_dump(exclude_unset=True)
    kinds = () if offer is None else offer.kinds
    if strange := sorted(given.keys() - set(kinds)):
        can = f"It can select {', '.join(kinds)}." if kinds else "Nothing can be selected there."
        raise BadRequestError(f"{row.provider} has no {', '.join(strange)} to select", can)
    if not kinds:
        raise BadRequestError(f"{row.provider} has nothing to select", "Leave selection out.")
    names = {choice.id: choice.name for some in (row.selection or {}).values() for choice in some}
    return {
        kind: tuple(ConnectorChoice(id=one, name=names.get(one, "")) for one in dict.fromkeys(ids))
        for kind, ids in given.items()
    }


async def _picker(connectors: Connectors, row: ConnectorChanged, return_url: str | None) -> Picker | None:
    offer = connectors.offer(row.provider)
    if offer is None or not offer.kinds or row.status != "active":
        return None
    url, until = await connectors.pick(row, return_url)
    return Picker(url=url, expires_at=timestamp(until))


async def _answer(state: State, row: ConnectorChanged, *, syncs: bool = False) -> Connector:
    connectors = _connectors(state)
    owner = state.catalog.owner(row.space)
    runs = await connectors.connections.runs(row.id)
    name = None if owner is None else owner.name
    return connector(row, name, connectors.offer(row.provider), runs, syncs=syncs)


def _offered(state: State, provider: str) -> tuple[Connectors, Offer]:
    offer = None if state.connectors is None else state.connectors.offer(provider)
    if state.connectors is None or offer is None:
        raise UnavailableError(
            "Not available on this deployment",
            f"Its operator has not set up {provider} (docs/guides/connectors.md).",
        )
    return state.connectors, offer


def _found(state: State, namespace: str, id: str) -> tuple[Connectors, ConnectorChanged]:  # noqa: A002
    if state.connectors is None:
        raise _missing(id)
    row = state.connectors.connections.found(id)
    owner = None if row is None else state.catalog.owner(row.space)
    if row is None or owner is None or owner.name != namespace:
        raise _missing(id)
    return state.connectors, row


def _connectors(state: State) -> Connectors:
    if state.connectors is None:
        raise UnavailableError("Not available on this deployment", "It has no connectors.")
    return state.connectors


def _missing(id: str) -> NotFoundError:  # noqa: A002 - the contract's word
    return NotFoundError("Connector not found", f"There is no connector {id[:100]!r}.")


def _redirect(url: str | None) -> str | None:
    """Where a browser is sent afterwards: a web page, and nothing that a browser would run."""
    if url is not None and urlsplit(url).scheme not in {"http", "https"}:
        raise BadRequestError(
            "Not an address of a web page", f"{url[:100]!r} begins with neither http nor https."
        )
    return url
