"""MCP over standard input and output, for clients that start their servers; calls a running service."""

import httpx2
from mcp.server.stdio import stdio_server

from api.mcp.mcp_server import create_server
from api.mcp.service_client import ServiceClient

TIMEOUT_SECONDS = 60.0


async def serve(address: str, key: str, namespace: str | None) -> None:
    """Serve until standard input ends. `namespace`: used by calls that name none."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=address, headers=headers, timeout=TIMEOUT_SECONDS) as client:
        service = ServiceClient(client, default_namespace=namespace)
        server = create_server(lambda _: service)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
