"""The SDK's client on a started service, over HTTP and through `recollect mcp`: both say the same."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from app.cli.conventions import ExitCode
from bench.service_process import PROGRAM, Server, unconfigured
from tests.support.mcp_client import call_tool, call_tool_text, connected
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _over_http(server: Server, namespace: str) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {server.key}", "x-recollect-namespace": namespace}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=WAIT_TIMEOUT_SECONDS) as http:
        async with connected(http) as client:
            yield client


@asynccontextmanager
async def _over_stdio(server: Server, namespace: str) -> AsyncIterator[Client]:
    settings = {
        "RECOLLECT_URL": server.url,
        "RECOLLECT_API_KEY": server.key,
        "RECOLLECT_NAMESPACE": namespace,
    }
    started = StdioServerParameters(command=PROGRAM, args=["mcp"], env=unconfigured() | settings)
    async with Client(stdio_client(started)) as client:
        yield client


async def _found(client: Client, query: str) -> list[str]:
    with anyio.fail_after(WAIT_TIMEOUT_SECONDS):
        while not (results := (await call_tool(client, "search_memory", query=query))["results"]):  # noqa: ASYNC110 - see below
            await anyio.sleep(0.05)  # another process works on it: there is no event to wait for
    return [result["text"] for result in results]


async def test_what_one_client_adds_the_other_finds_with_the_same_tools(server: Server, namespace: str) -> None:
    async with _over_http(server, namespace) as near, _over_stdio(server, namespace) as far:
        assert (await near.list_tools()).tools == (await far.list_tools()).tools
        await call_tool(far, "add_memory", content="I take the ferry from Cais do Sodré to Cacilhas.")
        for client in (near, far):
            assert "Cais do Sodré" in (await _found(client, "Where does the ferry leave?"))[0]
        with anyio.fail_after(WAIT_TIMEOUT_SECONDS):
            while "Cais do Sodré" not in await call_tool_text(near, "get_profile"):  # noqa: ASYNC110 - as above
                await anyio.sleep(0.05)
        for tool in ("whoami", "list_namespaces", "list_documents", "get_profile"):
            assert await call_tool_text(far, tool) == await call_tool_text(near, tool)


async def test_a_service_that_is_away_is_named_by_the_tool(tmp_path: Path, namespace: str) -> None:
    async with _over_stdio(Server(tmp_path), namespace) as client:
        profile = await call_tool_text(client, "get_profile")
    assert "does not answer" in profile
    assert "Is it running?" in profile


def test_without_a_key_the_command_says_what_it_needs(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        [PROGRAM, "mcp"],
        env=unconfigured() | {"RECOLLECT_URL": "http://127.0.0.1:1"},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == ExitCode.UNAUTHORIZED
    assert "RECOLLECT_API_KEY" in done.stderr
