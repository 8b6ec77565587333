"""Reserved loopback ports for servers that are started later, or restarted."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """Reserve a free port until the end of the block.

    A port that is only looked up could be taken by others before the server binds it, and while the server is
    down. A bound socket that doesn't listen keeps it, and Linux still lets a server with SO_REUSEADDR listen
    there. Other systems don't, so there the port is only looked up.
    """
    with socket.socket() as reservation:
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind(("127.0.0.1", 0))
        port = int(reservation.getsockname()[1])
        if sys.platform != "linux":
            reservation.close()
        yield port
