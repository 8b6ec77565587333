"""A real server in a process of its own, and the official client."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from supermemory import Supermemory

from bench.service_process import Server
from tests.support.preforked_cli import preforked_cli

QUIET = {"RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "0.2", "RECOLLECT_EMBEDDER": "wordllama"}
"""Short debounce, and the embedder that takes the least time: another model changes no operation."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server for all tests: each uses namespaces of its own."""
    with Server(tmp_path_factory.mktemp("e2e") / "data", QUIET) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[Supermemory]:
    """The official client with the admin key; it does not repeat calls, so a failure is seen."""
    with Supermemory(base_url=server.url, api_key=server.key, max_retries=0) as client:
        yield client


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return "".join(char if char.isalnum() else "-" for char in request.node.name)[-80:]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`recollect`, quick to start."""
    with preforked_cli(tmp_path_factory.mktemp("zygote")) as started:
        yield started


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may stop and kill; it is not started yet."""
    server = Server(tmp_path / "data", QUIET)
    try:
        yield server
    finally:
        server.stop()
