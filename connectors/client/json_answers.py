"""Answers of providers as JSON: objects, lists, and the pages of lists.

A provider that sends something else than it describes is unavailable: nothing may be concluded from it, least of all
that items are gone. These functions raise ProviderUnavailableError then, so that the run is tried again.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import httpx2

from connectors.errors import ProviderUnavailableError, UnexpectedAnswerError

T = TypeVar("T", str, int)
Shape: TypeAlias = "type | list[Shape] | Mapping[str, Shape]"
"""Description of JSON: a type, a list of one shape, or an object by its fields."""


def json_or_raise(response: httpx2.Response) -> Any:
    """Parse a response's JSON; UnexpectedAnswerError from 400 on."""
    host = response.url.host
    if response.status_code == httpx2.codes.FORBIDDEN:
        raise UnexpectedAnswerError(
            f"{host} answered 403 to a request for {response.url.path}: the account or the app lacks"
            " a permission. Grant it, or connect again.",
            code="auth_expired",
        )
    if response.status_code >= 400:
        raise UnexpectedAnswerError(f"{host} answered {response.status_code} to a request for {response.url.path}.")
    try:
        return response.json()
    except ValueError as error:
        raise ProviderUnavailableError(f"{host} sent an answer that is not JSON. The next run tries again.") from error


def json_object(response: httpx2.Response, *required: str) -> dict[str, Any]:
    """Parse an object that has these fields."""
    found = json_or_raise(response)
    if not isinstance(found, dict) or any(found.get(name) is None for name in required):
        raise _unreadable(response)
    return found


def error_body(response: httpx2.Response) -> dict[str, Any]:
    """Return the object in a response whatever its status, such as one about an error; empty if there is none."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def json_list(response: httpx2.Response) -> list[dict[str, Any]]:
    """Parse a list of objects."""
    return _objects(json_or_raise(response), response)


def json_page(response: httpx2.Response, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Parse the objects that an answer lists in its field `name`, and the answer, which tells of the next page."""
    answer = json_object(response, name)
    return _objects(answer[name], response), answer


def conforming(value: Any, shape: Shape) -> Any:
    """Return what of a JSON value is as described; None: nothing is.

    A field or an entry of another type counts as missing, so that one odd value costs no more than itself. Fields that
    the shape does not name stay.
    """
    if isinstance(shape, type):
        return value if isinstance(value, shape) else None
    if isinstance(shape, list):
        found = [conforming(entry, shape[0]) for entry in value] if isinstance(value, list) else None
        return found if found is None else [entry for entry in found if entry is not None]
    if not isinstance(value, dict):
        return None
    fields = {name: conforming(value.get(name), inner) for name, inner in shape.items()}
    others = {name: inner for name, inner in value.items() if name not in shape}
    return others | {name: inner for name, inner in fields.items() if inner is not None}


class PageTrail:
    """Pages of a provider's list that were read. One that leads back to them would be read for ever."""

    def __init__(self, provider: str, error: type[Exception] = ProviderUnavailableError) -> None:
        self._provider = provider
        self._error = error
        self._followed: set[str | int] = set()

    def follow(self, page: T | None) -> T | None:
        """Return the cursor or link of the next page; `error` if it was followed before."""
        if page is None:
            return None
        if page in self._followed:
            raise self._error(
                f"{self._provider} leads back to a page of a list that was read before. The next run tries again."
            )
        self._followed.add(page)
        return page


def _objects(found: Any, response: httpx2.Response) -> list[dict[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise _unreadable(response)
    return found


def _unreadable(response: httpx2.Response) -> ProviderUnavailableError:
    return ProviderUnavailableError(
        f"{response.url.host} sent something other than it describes for {response.url.path}. The next run tries again."
    )
