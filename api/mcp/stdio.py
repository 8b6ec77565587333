"""MCP over standard input and output, for clients that start their servers: a running service is asked."""

import httpx2
from mcp.server.stdio import stdio_server

from api.mcp.interface import Interface
from api.mcp.server import make

TIMEOUT = 60.0


async def serve(address: str, key: str, namespace: str | None) -> None:
    """Answer until standard input ends. `namespace`: the one that is meant where none is named."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=address, headers=headers, timeout=TIMEOUT) as client:
        interface = Interface(client, namespace=namespace)
        server = make(lambda _: interface)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
