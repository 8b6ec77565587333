"""Client with which MCP tools call the HTTP API, in this process or remote."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from pipeline.runtime import correlation
from schemas.base import JsonObject


class ToolCallError(Exception):
    """Failure of a tool call, with a message for the caller."""


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """HTTP API with one caller's key in `headers`, so that the usual permissions apply.

    `default_namespace`: used if a call names none; None: the key's only namespace, if it has just one.
    `extensions`: for the transport.
    """

    client: httpx2.AsyncClient
    headers: Mapping[str, str] = field(default_factory=dict)
    default_namespace: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)

    async def call(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: JsonObject | None = None
    ) -> JsonObject:
        """Return the response body; ToolCallError with the service's message if the call fails."""
        request_id = correlation.current_request_id()
        named = {**self.headers, **({} if request_id is None else {"x-request-id": request_id})}
        headers = httpx2.Headers(named, encoding="latin-1")  # as servers read them
        try:
            response = await self.client.request(
                method, path, params=query, json=body, headers=headers, extensions=dict(self.extensions)
            )
        except httpx2.TransportError as error:
            raise ToolCallError(
                f"The memory service at {self.client.base_url} does not answer ({error}). Is it running?"
            ) from error
        if not response.is_success:
            raise ToolCallError(error_message(response))
        content: JsonObject = response.json()
        return content

    async def resolve_namespace(self, namespace: str | None) -> str:
        """Return the namespace to use; ToolCallError if none is named and the key opens several."""
        if namespace is not None:
            return namespace
        if self.default_namespace is not None:
            return self.default_namespace
        scope = (await self.call("GET", "/admin/whoami"))["namespaces"]
        if scope is not None and len(scope) == 1 and not scope[0].endswith("*"):
            only: str = scope[0]
            return only
        raise ToolCallError("Name a namespace: this key opens several. list_namespaces shows those that exist.")


def error_message(response: httpx2.Response) -> str:
    """Return the error text of a failed response on one line."""
    try:
        body = response.json()
    except json.JSONDecodeError:
        return response.text[:500]
    error = body.get("error")
    if isinstance(error, list):
        return "; ".join(map(_name_field, error))
    return ". ".join(part.rstrip(".") for part in (error, body.get("details")) if part)


def _name_field(part: JsonObject) -> str:
    path, message = ".".join(map(str, part.get("path", []))), str(part["message"])
    return message if message.startswith(f"{path}: ") else f"{path}: {message}"
