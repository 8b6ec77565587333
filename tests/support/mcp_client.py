"""The official SDK's client on the service, over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent


@asynccontextmanager
async def connected(http: httpx2.AsyncClient, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of the service that `http` asks; "legacy" begins with the handshake of earlier versions."""
    transport = streamable_http_client(str(http.base_url.join("/mcp")), http_client=http)
    async with Client(transport, mode=mode) as client:
        yield client


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structure of an answer; the client has checked it against the tool's schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structure: dict[str, Any] = result.structured_content
    return structure


async def call_tool_text(client: Client, tool: str, **arguments: Any) -> str:
    """Return the text of a tool's result or error."""
    (content,) = (await client.call_tool(tool, arguments)).content
    assert isinstance(content, TextContent)
    return content.text
