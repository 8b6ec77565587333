"""`recollect mcp`: for clients that start their servers themselves."""

import asyncio
from typing import Annotated

import typer

from api.commandline.conventions import examples
from api.remote import Key, Url, located

EXAMPLES = examples("recollect mcp", "recollect mcp --namespace alice")


def mcp(
    *,
    namespace: Annotated[
        str | None, typer.Option(envvar="RECOLLECT_NAMESPACE", help="Meant where a call names none.")
    ] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Speak MCP over standard input and output; a running service is asked."""
    address, secret = located(url, key)
    from api.mcp.stdio import serve  # noqa: PLC0415 - the SDK costs a second that other commands need not wait for

    asyncio.run(serve(address, secret, namespace))
