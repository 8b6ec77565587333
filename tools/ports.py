"""Ports of loopback for what is started later, and perhaps stopped and started again."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """A free port that nobody else is given until the end of the block.

    Chosen and let go, it would be anybody's before its server binds it, and whenever that one is down. A
    socket that is bound and doesn't listen keeps it, and Linux lets a server with SO_REUSEADDR, as all set
    it, listen there all the same. Other systems don't: there it is free as long as nobody takes it.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = int(held.getsockname()[1])
        if sys.platform != "linux":
            held.close()
        yield port
