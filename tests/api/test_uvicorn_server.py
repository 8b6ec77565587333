"""The listening socket of the service."""

import asyncio
import socket

from api.uvicorn_server import open_listener


def test_answers_are_sent_at_once_on_asyncios_loop_too() -> None:
    async def accepted_without_delay() -> bool:
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def on_accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            accepted.set_result(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()

        listener = open_listener("127.0.0.1", 0)
        async with await asyncio.start_server(on_accept, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            try:
                return await accepted
            finally:
                writer.close()

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        assert runner.run(accepted_without_delay())
