"""Messages that a provider's sync yields, and the view of earlier syncs that it reads."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from pydantic import JsonValue

from connectors.errors import ItemError
from schemas.base import Metadata

Cursor: TypeAlias = Mapping[str, JsonValue]
"""Position of a provider's sync: opaque JSON of a few kilobytes. Larger data belongs in `ProviderState`."""


@dataclass(frozen=True, slots=True)
class ItemFile:
    """File as the provider stores it; the pipeline extracts its text."""

    data: bytes
    filename: str
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class SourceItem:
    """Complete document of the source, with either `text` (Markdown) or `file`.

    `id` is the provider's, stable over renames if the provider has stable ids. `version` changes with content
    or metadata: an ETag, a revision, a time. `metadata` holds filterable values: author, path, createdAt,
    updatedAt (RFC 3339), labels; the sync runner adds provider and connector.
    """

    id: str
    version: str
    title: str | None
    text: str | None = None
    file: ItemFile | None = None
    url: str | None = None
    metadata: Metadata = field(default_factory=dict)
    date: datetime | None = None


@dataclass(frozen=True, slots=True)
class RemovedItem:
    """Item that was deleted or left the selection; unknown ids are ignored."""

    id: str


@dataclass(frozen=True, slots=True)
class FailedItem:
    """Item that could not be read; the message tells a customer what was wrong and what to do.

    The run continues, and an item synced earlier keeps its document. A retryable failure is asked for again in
    the next run, then with growing pauses (`SyncState.retryable_failures`, `SyncState.select_changed`); any other
    failure once its version changes. `ItemFetcher` in `connectors.providers.common` makes one of an error.
    """

    id: str
    message: str
    title: str | None = None
    code: str = "unreadable"
    retryable: bool = False

    @classmethod
    def of_error(cls, id_: str, title: str | None, error: ItemError) -> "FailedItem":
        return cls(id_, str(error), title, error.code, error.retryable)


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Small durable value of the provider, e.g. a folder's parent or a page's ETag; None deletes it."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class UnlistablePrefix:
    """Prefix of ids that can't be listed now; the complete listing under way removes no such items."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Cursor that is saved once everything yielded before it is durable; a killed run continues from it.

    Yield one per page or few hundred items, and a last one with the cursor of the next run.
    """

    cursor: Cursor


SyncMessage: TypeAlias = SourceItem | RemovedItem | FailedItem | ProviderState | UnlistablePrefix | Checkpoint


class SyncState(Protocol):
    """Items and provider state of earlier syncs, read from disk so that memory does not grow with them."""

    async def select_changed(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        """Return the ids to fetch among a page of (id, version) in the provider's order.

        Unchanged items, failures whose pause is not over and items above documentLimit are left out. All of the
        page counts as listed: a complete listing removes only items that were neither passed here, yielded, nor
        failed.
        """

    def item_versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """Iterate (id, version) of every item with this prefix, each once."""

    async def retryable_failures(self) -> list[str]:
        """Return ids whose last attempt failed and is to be repeated now, at most 1,000."""

    async def provider_state(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the stored provider state for these keys."""

    def scan_provider_state(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """Iterate (key, value) of the provider state with this prefix, each once."""
