"""Deliveries to hostile receivers: they reach public addresses only, wait for nothing, and read nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address

import pytest

from api.questions.webhook_sender import WebhookSender
from schemas.public_addresses import Address

pytestmark = pytest.mark.anyio
PUBLIC, LOOPBACK = ip_address("93.184.216.34"), ip_address("127.0.0.1")
Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def hostile_receiver(serve: Serve) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Listen on loopback; the URL, and the heads of the requests."""
    heads: list[bytes] = []
    connections: list[asyncio.Task[None] | None] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(asyncio.current_task())
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            await serve(writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook", heads
    finally:
        server.close()
        open_ones = [task for task in connections if task is not None]
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)


def _answers(*parts: bytes, repeats: bool = False) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        while True:
            for part in parts:
                writer.write(part)
                await writer.drain()
            if not repeats:
                return
            await asyncio.sleep(0.01)

    return serve


async def test_a_name_that_leads_elsewhere_after_the_check_is_not_followed() -> None:
    answers = [[PUBLIC], [LOOPBACK]]

    async def rebind(host: str, port: int) -> list[Address]:
        return answers.pop(0)

    async with hostile_receiver(_answers(b"HTTP/1.1 204 No\r\n\r\n")) as (url, heads):
        sender = WebhookSender(resolver=rebind)
        named = url.replace("127.0.0.1", "rebinding.test")
        assert await sender.find_fault(named) is None
        assert "private" in (await sender.send(named, b"{}", {}) or "")
        assert heads == []


async def test_a_redirect_is_not_followed() -> None:
    async with hostile_receiver(_answers(b"HTTP/1.1 204 No\r\n\r\n")) as (target, reached):
        away = f"HTTP/1.1 307 Away\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n".encode()
        async with hostile_receiver(_answers(away)) as (url, _):
            assert await WebhookSender(allow_private=True).send(url, b"{}", {}) == "The receiver answered 307."
        assert reached == []


@pytest.mark.parametrize(
    "serve",
    [
        _answers(b"H", repeats=True),
        _answers(b"HTTP/1.1 100 Continue\r\n\r\n", repeats=True),
        _answers(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 1000 + b"\r\n", b"x: y\r\n" * 20_000, repeats=True),
    ],
    ids=["a head that never ends", "answers that are none", "headers without end"],
)
async def test_a_receiver_that_never_ends_is_given_up(serve: Serve) -> None:
    async with hostile_receiver(serve) as (url, _):
        error = await WebhookSender(allow_private=True, timeout_seconds=0.3).send(url, b"{}", {})
    assert error is not None
    assert len(error) < 300


async def test_a_body_without_end_is_not_read() -> None:
    sent = 0

    async def flood(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with hostile_receiver(flood) as (url, _):
        assert await WebhookSender(allow_private=True).send(url, b"{}", {}) is None
    assert sent < 50_000_000


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://1.1.1.1/a\r\nx-injected: 1", "no URL"),
        ("http://1.1.1.1\t/a", "no URL"),
        ("http://1.1.1.1:99999/", "no URL"),
        ("http://[::ffff:127.0.0.1]/", "private"),
        ("http://[64:ff9b::7f00:1]/", "private"),
        ("http://0x7f000001/", "private"),
        ("http://127.1/", "private"),
        ("http://localhost./", "private"),
        ("file:///etc/passwd", "http or https"),
        ("https://1.1.1.1/hook?token=***", "in place of a secret"),
    ],
)
async def test_an_address_that_can_not_be_sent_to_is_refused(url: str, why: str) -> None:
    assert why in (await WebhookSender().find_fault(url) or "")


async def test_no_header_is_injected_by_a_path() -> None:
    async with hostile_receiver(_answers(b"HTTP/1.1 204 No\r\n\r\n")) as (url, heads):
        await WebhookSender(allow_private=True).send(f"{url}/%0d%0ax-injected:%201?a=\u2028", b"{}", {})
    assert len(heads) == 1
    assert b"\r\nx-injected" not in heads[0]
