"""Fetching of single items: an item that its provider can't serve fails by itself and never ends the run.

Use one `ItemFetcher` per run, and let every request for one item go through it:

    step = await self.fetcher.fetch(page_id, title, lambda: self._read_page(page_id))

`_read_page` returns messages or raises: `ItemError` with a reason a person can act on, or whatever the HTTP client
raises. `item_response` turns a response of 400 or above into such an error. Yield the `FailedItem` that comes back;
the sync core shows it in the run, keeps the item's document, and asks for the item again later.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar

import httpx2

from connectors.errors import ItemError, ProviderUnavailableError, RateLimitedError, UnexpectedAnswerError
from connectors.sync_messages import FailedItem
from pipeline.runtime.log_format import trace_of

R = TypeVar("R")

MALFORMED_ANSWER_ERRORS: Final = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""Errors of reading an answer that lacks a field or has an unexpected type in it."""
_MAX_CONSECUTIVE_FAILURES: Final = 3
_REFUSALS: Final = {
    400: "says that the request is not valid for this item",
    401: "does not accept the credentials for this item",
    403: "does not let this account read it. Share it with the account, or take it out of the selection",
    404: "does not find it. It may have been deleted, or is not shared with this account any more",
    405: "does not allow reading it",
    409: "can't read it while it is being changed",
    413: "finds it too large to hand out",
}

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ItemFetcher:
    """Turns errors of single items into failures, and tells them from an outage of the whole provider.

    `probe` is a cheap request that answers whenever the provider works at all. It is sent after several items in
    a row were unavailable; its error ends the run. Errors that concern the account (`AuthExpiredError`,
    `RateLimitedError`, `MisconfigurationError`, ...) always do. `limits_items`: the provider limits requests for one
    item as well, as sites do for a page; then only limits of several items in a row end the run.
    """

    provider: str
    """Name of the provider in messages."""
    probe: Callable[[], Awaitable[object]]
    limits_items: bool = False
    _consecutive_failures: int = field(default=0, init=False)

    async def fetch(self, id_: str, title: str | None, fetch: Callable[[], Awaitable[R]]) -> R | FailedItem:
        try:
            result = await fetch()
        except ItemError as error:
            return FailedItem.of_error(id_, title, error)
        except ProviderUnavailableError as error:
            await self._probe_after_several()
            return FailedItem(id_, str(error), title, "unavailable", retryable=True)
        except RateLimitedError as error:
            self._consecutive_failures += 1
            if not self.limits_items or self._consecutive_failures >= _MAX_CONSECUTIVE_FAILURES:
                raise
            return FailedItem(id_, str(error), title, error.code, retryable=True)
        except UnexpectedAnswerError as error:
            return FailedItem(id_, str(error), title, retryable=True)
        except MALFORMED_ANSWER_ERRORS as error:
            return self._malformed(id_, title, error)
        self._consecutive_failures = 0
        return result

    async def _probe_after_several(self) -> None:
        self._consecutive_failures += 1
        if self._consecutive_failures >= _MAX_CONSECUTIVE_FAILURES:
            with suppress(UnexpectedAnswerError, ItemError):
                await self.probe()
            self._consecutive_failures = 0

    def _malformed(self, id_: str, title: str | None, error: Exception) -> FailedItem:
        log.warning("An answer of %s could not be read", self.provider, exc_info=trace_of(error))
        message = f"{self.provider} sent an answer for this item that can't be read. Report it with the service's log."
        return FailedItem(id_, message, title, "malformed", retryable=True)


def item_response(response: httpx2.Response, provider: str) -> httpx2.Response:
    """Return a response below 400; otherwise ItemError, which later runs try again."""
    status = response.status_code
    if status < 400:
        return response
    refusal = _REFUSALS.get(status, "could not serve it; a later run tries again")
    raise ItemError(f"{provider} answered {status}: it {refusal}.", code=f"http_{status}", retryable=True)


def without_item_errors(fetch: Callable[[str], Awaitable[R | None]]) -> Callable[[str], Awaitable[R | None]]:
    """Return a function that gives None for an item that can't be read, where a missing one matters little."""

    async def fetch_or_none(id_: str) -> R | None:
        try:
            return await fetch(id_)
        except ItemError:
            return None

    return fetch_or_none
