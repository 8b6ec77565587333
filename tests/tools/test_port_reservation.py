"""A reserved port is available to its server only."""

import socket
import sys

import pytest

from api.uvicorn_server import open_listener
from tools.port_reservation import reserved_port

ADDRESS = "127.0.0.1"


def test_a_server_can_listen_on_a_reserved_port_repeatedly() -> None:
    with reserved_port() as port:
        for _ in range(3):
            with open_listener(ADDRESS, port) as server:
                server.listen()
                with socket.create_connection((ADDRESS, port)), server.accept()[0]:
                    pass
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((ADDRESS, port))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shares a bound port with SO_REUSEADDR")
def test_a_reserved_port_is_taken_without_a_server_and_free_afterwards() -> None:
    with reserved_port() as port:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((ADDRESS, port))
    with socket.socket() as other:
        other.bind((ADDRESS, port))
