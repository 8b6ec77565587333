"""TCP proxy on loopback that can refuse connections, as a server that is away does."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.timeouts import WAIT_TIMEOUT_SECONDS


class InterruptibleProxy:
    """Forwards connections to a port; while it is interrupted, it closes them at once."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_away = False
        self._refused = threading.Semaphore(0)
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Close every connection, and refuse new ones until the end of the block."""
        with self._lock:
            self._is_away = True
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            self._is_away = False

    def wait_for_refusals(self, count: int) -> None:
        """Wait until so many more connections were refused."""
        for _ in range(count):
            assert self._refused.acquire(timeout=WAIT_TIMEOUT_SECONDS), "nobody tried to connect"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if self._is_away:
                connection.close()
                self._refused.release()
            else:
                threading.Thread(target=self._forward, args=(connection,), daemon=True).start()

    def _forward(self, connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", self._target_port)) as target:
            with self._lock:
                self._connections |= {connection, target}
            answering = threading.Thread(target=_copy, args=(target, connection), daemon=True)
            answering.start()
            _copy(connection, target)
            answering.join()
            with self._lock:
                self._connections -= {connection, target}


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
