"""A port that was chosen is there for its server, and for nobody else."""

import socket
import sys

import pytest

from api.server import listen
from tools.ports import held_port

ADDRESS = "127.0.0.1"


def test_a_server_may_listen_on_it_again_and_again() -> None:
    with held_port() as port:
        for _ in range(3):
            with listen(ADDRESS, port) as server:
                server.listen()
                with socket.create_connection((ADDRESS, port)), server.accept()[0]:
                    pass
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((ADDRESS, port))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a port for two that know of each other")
def test_it_is_nobody_elses_while_its_server_is_down_and_free_at_the_end() -> None:
    with held_port() as port:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((ADDRESS, port))
    with socket.socket() as other:
        other.bind((ADDRESS, port))
