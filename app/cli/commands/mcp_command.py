"""`recollect mcp`: the MCP server over standard input and output."""

import asyncio
from typing import Annotated

import typer

from app.cli.conventions import examples_epilog
from app.cli.remote_service import Key, Url, resolve_endpoint
from app.cli.service_command import app


@app.command(epilog=examples_epilog("recollect mcp", "recollect mcp --namespace alice"))
def mcp(
    *,
    namespace: Annotated[
        str | None, typer.Option(envvar="RECOLLECT_NAMESPACE", help="The namespace of calls that name none.")
    ] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Serve MCP over standard input and output, with a running service behind it."""
    address, secret = resolve_endpoint(url, key)
    from api.mcp.mcp_server import serve  # noqa: PLC0415 - the SDK takes a second to import

    asyncio.run(serve(address, secret, namespace))
