"""Shutdown of the service: running requests and batches finish first; a second signal ends it at once."""

import json
import os
import signal
import socket
from contextlib import closing

import httpx2

from bench.service_process import Server
from tests.support.polling import poll_until
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

COUNT = 40


class HalfSentRequest:
    """A request that is being handled, and whose body has come by half."""

    def __init__(self, server: Server, path: str, body: object) -> None:
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {server.key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
            "expect: 100-continue\r\n\r\n"
        )
        self._rest = content[10:]
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_TIMEOUT_SECONDS)
        self._answer = self._socket.makefile("rb")
        self._socket.sendall(head.encode())
        # Who is only connected is turned away when the server ends: it has to be known that this one is read.
        assert self._answer.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert self._answer.readline() == b"\r\n"
        self._socket.sendall(content[:10])

    def finish(self) -> str:
        """The status line of the answer."""
        self._socket.sendall(self._rest)
        return self._answer.readline().decode()

    def close(self) -> None:
        self._answer.close()
        self._socket.close()


def _is_listening(server: Server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
    except (ConnectionRefusedError, ConnectionResetError):
        # Reset is who was in the queue of a socket that has just been closed.
        return False
    return True


def _send_sigterm(server: Server) -> None:
    os.kill(server.pid, signal.SIGTERM)
    poll_until(lambda: _is_listening(server), lambda listening: not listening, "no new requests taken")


def test_a_request_under_way_is_answered_and_what_it_wrote_is_there_after_the_end(own_server: Server) -> None:
    own_server.start()
    headers = {"authorization": f"Bearer {own_server.key}"}
    with httpx2.Client(base_url=own_server.url, headers=headers, timeout=WAIT_TIMEOUT_SECONDS) as client:
        for number in range(COUNT):
            body = {"content": f"Ada has {number} cats.", "id": f"d{number}", "taskType": "superrag"}
            assert client.post("/ns/home/document", json=body).is_success
    request = HalfSentRequest(own_server, "/ns/home/document", {"content": "Bob sails.", "id": "late"})
    with closing(request):
        _send_sigterm(own_server)
        assert " 200 " in request.finish()
    assert own_server.wait() == 0
    own_server.start()
    with httpx2.Client(base_url=own_server.url, headers=headers, timeout=WAIT_TIMEOUT_SECONDS) as client:

        def states() -> dict[str, str]:
            body: dict[str, object] = {}
            answer = client.post("/ns/home/list/documents?limit=100", json=body).json()
            return {document["id"]: document["system"]["status"] for document in answer["documents"]}

        found = poll_until(states, lambda seen: set(seen.values()) == {"done"}, "all done")
        assert found.keys() == {"late", *(f"d{number}" for number in range(COUNT))}


def test_a_second_signal_ends_it_at_once(own_server: Server) -> None:
    own_server.start()
    request = HalfSentRequest(own_server, "/ns/home/document", {"content": "Bob sails.", "id": "never"})
    with closing(request):
        _send_sigterm(own_server)
        os.kill(own_server.pid, signal.SIGTERM)
        assert own_server.wait() == 128 + signal.SIGTERM
