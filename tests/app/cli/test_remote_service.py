"""Commands find a service of this machine, also one that is slow to answer."""

import asyncio
from typing import Any

import pytest

from app.cli import remote_service
from tests.support.asgi_server import serve_app_in_thread


async def _slow_to_answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer as a service does whose start keeps a busy machine's processors."""
    await asyncio.sleep(2 * remote_service.CONNECT_TIMEOUT_SECONDS)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": b'{"status": "ok"}'})


def test_a_service_that_took_the_connection_may_take_longer_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_service, "CONNECT_TIMEOUT_SECONDS", 1.0)
    with serve_app_in_thread(_slow_to_answer) as address:
        assert remote_service.is_healthy(address)


def test_a_port_that_nobody_listens_at_is_no_service() -> None:
    with serve_app_in_thread(_slow_to_answer) as address:
        pass
    assert not remote_service.is_healthy(address)
