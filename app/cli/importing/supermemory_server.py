"""Documents of a running server that speaks v3 of the interface, such as the vendor's."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2

from app.cli.importing.patient_requests import send_patiently
from app.importers.imported_item import Read, SourceError
from app.importers.supermemory import to_item

_PAGE_SIZE = 100


def read_supermemory_server(address: str, key: str) -> Read:
    """Yield every document that the key opens, oldest first, with its text."""
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=60.0) as client:
        for record in _documents(client):
            is_bare = isinstance(record, dict) and record.get("id") and not record.get("content")
            yield to_item(record | _ask(client, "GET", f"/v3/documents/{record['id']}") if is_bare else record)


def _documents(client: httpx2.Client) -> Iterator[Any]:
    page, last = 1, 1
    while page <= last:
        query = {"page": page, "limit": _PAGE_SIZE, "sort": "createdAt", "order": "asc", "includeContent": True}
        answer = _ask(client, "POST", "/v3/documents/list", json=query)
        try:
            yield from answer["memories"]
            page, last = page + 1, int(answer["pagination"]["totalPages"])
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(f"{client.base_url} answered something other than v3 does: {error!r}") from error


def _ask(client: httpx2.Client, method: str, path: str, **options: Any) -> dict[str, Any]:
    try:
        response = send_patiently(client, method, path, **options)
        if not response.is_success:
            hint = " Give --source-key." if response.status_code in {401, 403} else ""
            raise SourceError(f"{client.base_url} answered {response.status_code} to {path}.{hint}")
        answer = response.json()
    except httpx2.TransportError as error:
        raise SourceError(f"No complete answer from {client.base_url}: {error}") from error
    except json.JSONDecodeError as error:
        raise SourceError(f"{client.base_url} answered {path} with something that is no JSON.") from error
    if not isinstance(answer, dict):
        raise SourceError(f"{client.base_url} answered {path} with a list.")
    return answer
