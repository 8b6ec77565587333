"""What a provider is to the engine: it yields items and failures, then the cursor they lead up to.

The engine does everything that is the same for all of them: documents, limits, deletions, state, retries of
requests, tokens, schedules. A provider knows one API and its traps, and nothing of documents or the log.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import httpx2
from pydantic import JsonValue

from schemas.base import Metadata
from schemas.http.connectors import Provider as ProviderName

if TYPE_CHECKING:
    from connectors.http import Http

Cursor: TypeAlias = Mapping[str, JsonValue]
"""Where a provider goes on; its own affair, JSON, a few kilobytes. What is larger belongs into notes."""
Kind: TypeAlias = Literal["repos", "labels", "files", "folders"]


@dataclass(frozen=True, slots=True)
class File:
    """A file as the provider has it; the pipeline turns it into text."""

    data: bytes
    filename: str
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One document of the source, whole: exactly one of `text` (Markdown) and `file`.

    `id` is the provider's, stable over renames where it has such a thing. `version` is whatever changes when
    content or metadata change: an ETag, a revision, a time. `metadata` is what a customer filters by: author,
    path, createdAt, updatedAt (RFC 3339), labels; the engine adds provider and connector.
    """

    id: str
    version: str
    title: str | None
    text: str | None = None
    file: File | None = None
    url: str | None = None
    metadata: Metadata = field(default_factory=dict)
    date: datetime | None = None


@dataclass(frozen=True, slots=True)
class Removed:
    """An item that is gone from the source or moved out of the selection; unknown ids are ignored."""

    id: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be read, for a customer: what was wrong, what to do. The run goes on.

    An item that is known keeps its document. With `again` it is among `Known.failed()` in the next run.
    """

    id: str
    message: str
    title: str | None = None
    code: str = "unreadable"
    again: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A small durable fact of the provider, e.g. a folder's parent or a page's ETag; None forgets it."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Kept:
    """What has ids with this prefix can't be listed now: a complete listing without them removes none."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything yielded before it is durable when this cursor is saved; a killed run continues from here.

    Yield one per page or per few hundred items, and one at the end with the cursor of the next run.
    """

    cursor: Cursor


Step: TypeAlias = Item | Removed | Failure | Note | Kept | Checkpoint


class Known(Protocol):
    """What the engine knows of this connector's items, on disk: nothing here costs memory by their number."""

    async def wanted(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        """Of a page of (id, version), in the provider's order: the ids whose content is to be fetched.

        Left out are the unchanged and what is above documentLimit. Whatever is asked for here counts as
        mentioned: a complete listing removes only what it neither asked for, yielded, nor failed.
        """
        ...

    def versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """(id, version) of every item with this prefix, each once: to compare with a listing."""
        ...

    async def failed(self) -> list[str]:
        """Ids whose last attempt failed and may be tried again; at most 1,000."""
        ...

    async def notes(self, keys: Sequence[str]) -> dict[str, str]:
        """The provider's own notes for these keys."""
        ...

    def all_notes(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """(key, value) of every note with this prefix, each once."""
        ...


class Access(Protocol):
    """The OAuth access token of a connector, refreshed where it is about to expire."""

    async def token(self) -> str:
        """A token that should work. AuthExpiredError where only the user can help."""
        ...

    async def renew(self, rejected: str) -> str:
        """Another token, because the provider refused this one. AuthExpiredError."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that was selected: the provider's id and the name a person knows it by."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Connection:
    """One connector, ready to be used. `config` is what the answers show, `secrets` is what they hide.

    `selection` is None until someone chose. `account` is what `Provider.account` said. `http` sends the
    token to the provider's own origins only. `told`: an event of the provider is why this run is.
    """

    connector: str
    http: "Http"
    access: Access | None = None
    config: Mapping[str, str | float | bool] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    selection: Mapping[Kind, tuple[Choice, ...]] | None = None
    account: "Account | None" = None
    told: bool = False

    def selected(self, kind: Kind) -> tuple[str, ...]:
        """The ids that were chosen of a kind."""
        return tuple(choice.id for choice in (self.selection or {}).get(kind, ()))


@dataclass(frozen=True, slots=True)
class Account:
    """Whose account it is: `name` for people (an address, a login), `key` as webhooks name it."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class OAuth:
    """How a provider authorizes. Notion takes its token requests as JSON with the secret in Basic.

    `operator_errors`: codes of the token endpoint, or of its `error_description`, that an operator caused
    and no user can mend, beside the standard ones (invalid_client, unauthorized_client, ...).
    """

    authorize_url: str
    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    client_in: Literal["basic", "body"] = "body"
    body: Literal["form", "json"] = "form"
    pkce: bool = True
    revoke_url: str | None = None
    operator_errors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pace:
    """What a provider allows one account: requests per second, how many at once, how many in a burst."""

    per_second: float = 10.0
    concurrent: int = 8
    burst: int = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the picker. `kind` None: can be opened, not chosen."""

    id: str
    name: str
    kind: Kind | None
    detail: str = ""
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of entries; `next` is given back for the following one."""

    entries: tuple[Entry, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """What the provider calls us back for. `secret` is ours, sent along or signed with on each delivery."""

    id: str
    secret: str = field(repr=False)
    expires_at: datetime | None = None
    data: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A request to /webhooks/<provider> or /webhooks/<provider>/<connector>; header names in lower case.

    `subscription` is that of the connector in the path, None without one.
    """

    method: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    at: datetime
    subscription: Subscription | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """Something changed: for the connector of the path, for an account's `key`, or for a selected thing.

    `full`: changes were lost, a complete listing is due. `expired`: access was withdrawn.
    """

    by: Literal["connector", "account", "selected"] = "connector"
    key: str = ""
    full: bool = False
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a delivery is answered with, where the provider asks for something particular."""

    status: int = 200
    body: str = ""
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A delivery that is genuine. `id` makes a repetition known, `sent_at` an old one.

    `handshake` is a secret that the operator has to carry to the provider's settings page.
    """

    hints: tuple[Hint, ...] = ()
    id: str | None = None
    sent_at: datetime | None = None
    reply: Reply = field(default_factory=Reply)
    handshake: str | None = field(default=None, repr=False)


class Provider(ABC):
    """One kind of source. An instance holds endpoints and the operator's settings, nothing of a connector.

    Every method may raise the errors of `connectors.errors`; the HTTP client raises most of them by itself.
    """

    name: ProviderName
    oauth: OAuth | None = None
    """None: no user has to authorize; a config is all it needs."""
    origins: frozenset[str] = frozenset()
    """`scheme://host[:port]` of its API: pooled, and the only ones that see the token. Others are guarded."""
    kinds: tuple[Kind, ...] = ()
    """What can be selected; none: a selection is refused."""
    webhooks: bool = False
    pace: Pace = Pace()
    every: timedelta | None = None
    """Between two runs; None: as the operator says, four hours unless told otherwise."""
    reconcile: timedelta = timedelta(days=7)
    """Between two complete listings, which start with no cursor."""
    debounce: timedelta = timedelta(seconds=30)
    """From the first event to the run it starts."""
    delivery_bytes: int = 1024 * 1024
    """The largest event that it sends."""
    order: str = "newest first"
    """The order in which a complete listing names items, in words: documentLimit keeps the first of it."""

    @abstractmethod
    def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """What changed since the cursor; without one everything there is.

        Ending normally says that all of it was named. After a complete listing (one that began with no
        cursor, also when it was continued) the engine removes what was not mentioned.
        CursorExpiredError starts over without a cursor.
        """

    def judge(self, response: httpx2.Response) -> Exception | None:
        """What an answer of 400 or more means here, where the status alone does not say it.

        None: 401 renews the token once, 429 and 503 wait, other 5xx and 408 are tried again, the rest is
        returned to whoever asked.
        """
        del response
        return None

    async def account(self, connection: Connection) -> Account | None:
        """Whose account was just authorized."""
        del connection
        return None

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        """Names for what was selected by id; what is not there any more is left out."""
        del connection, kind
        return {id_: id_ for id_ in ids}

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        """What the picker shows: within a parent or at the top, matching a query ("": everything)."""
        raise NotImplementedError

    async def receive(self, delivery: Delivery) -> Receipt:
        """Check a delivery and say what it is about, fast. ForgedError for one that is not genuine."""
        raise NotImplementedError

    async def subscribe(
        self, connection: Connection, address: str, secret: str, current: Subscription | None
    ) -> Subscription | None:
        """Be called at `address`: anew, or `current` prolonged. None: the provider has no such call.

        Called when a run begins, where less than half of the time to `expires_at` is left or the selection
        is another one.
        """
        del connection, address, secret, current
        return None

    async def unsubscribe(self, connection: Connection, current: Subscription) -> None:
        """Be called no more; a subscription that is gone already is none to complain about."""
        del connection, current
