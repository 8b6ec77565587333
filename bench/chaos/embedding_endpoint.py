"""An OpenAI-compatible embedding endpoint that can stop answering."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 32


class Endpoint:
    """Answers vectors of words; while `open` is not set it holds every question."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.held = threading.Event()
        """Somebody has asked and waits."""
        self.url = ""

    def settings(self) -> dict[str, str]:
        """Return the settings with which a service uses this endpoint."""
        return {
            "RECOLLECT_EMBEDDER": "openai",
            "RECOLLECT_EMBEDDER_BASE_URL": self.url,
            "RECOLLECT_EMBEDDER_DIMENSIONS": str(DIMENSIONS),
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error, unless a process was killed while it asked."""
        if not isinstance(sys.exception(), ConnectionError | ValueError):
            super().handle_error(request, client_address)


def _vector(text: str) -> list[float]:
    vector = [0.01] * DIMENSIONS
    for word in text.casefold().split():
        vector[blake2b(word.encode(), digest_size=1).digest()[0] % DIMENSIONS] += 1.0
    return vector


@contextmanager
def serve_endpoint() -> Iterator[Endpoint]:
    """An endpoint that is up, on loopback."""
    double = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if not double.open.is_set():
                double.held.set()
                double.open.wait()
            found = [{"index": at, "embedding": _vector(text)} for at, text in enumerate(asked["input"])]
            body = json.dumps({"data": found}).encode()
            try:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # it had waited long enough

        def log_message(self, *_: object) -> None:
            """Discard log messages; the table is the output."""

    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    double.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield double
    finally:
        double.open.set()
        server.shutdown()
        server.server_close()
