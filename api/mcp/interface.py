"""The one way in which tools reach the service: its HTTP interface, in this process or far away."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from api.remote import Answer, complaint
from pipeline import tracing


class RefusedError(Exception):
    """What a tool can't do, and why, in words for whoever called it."""


@dataclass(frozen=True, slots=True)
class Interface:
    """The HTTP interface as one caller sees it: `headers` has the key, so the service's own rules hold.

    `namespace`: the one that is meant where none is named; None: the only one of the key, if it has one.
    """

    client: httpx2.AsyncClient
    headers: Mapping[str, str] = field(default_factory=dict)
    namespace: str | None = None

    async def call(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Answer | None = None
    ) -> Answer:
        """The answer as a dictionary; RefusedError with the service's own words otherwise."""
        request = tracing.request_id()
        headers = {**self.headers, **({} if request is None else {"x-request-id": request})}
        try:
            response = await self.client.request(method, path, params=query, json=body, headers=headers)
        except httpx2.TransportError as error:
            raise RefusedError(
                f"The memory service at {self.client.base_url} does not answer ({error}). Is it running?"
            ) from error
        if not response.is_success:
            raise RefusedError(complaint(response))
        answer: Answer = response.json()
        return answer

    async def namespace_of(self, named: str | None) -> str:
        """The namespace that is meant; RefusedError says how to name one."""
        if named is not None:
            return named
        if self.namespace is not None:
            return self.namespace
        scope = (await self.call("GET", "/admin/whoami"))["namespaces"]
        if scope is not None and len(scope) == 1 and not scope[0].endswith("*"):
            only: str = scope[0]
            return only
        raise RefusedError(
            "Say which namespace is meant: this key opens several. list_namespaces shows those that exist."
        )
