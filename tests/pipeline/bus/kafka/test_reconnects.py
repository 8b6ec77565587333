"""Reconnects are paced, and an outage is told a few times rather than at each attempt."""

import asyncio
import logging
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import client, conn
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError, RequestTimedOutError

from pipeline.bus.kafka.reconnects import (
    MAX_PAUSE_SECONDS,
    REPORT_SECONDS,
    PacedConnect,
    RepetitionFilter,
    quiet_reconnects,
)
from pipeline.runtime.fair_event_loop import new_fair_event_loop

pytestmark = pytest.mark.anyio


class FakeBroker:
    """Broker that is away until `answers`, with a clock that only sleeping moves, while `time_passes`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.answers = False
        self.time_passes = True
        self.attempts: list[float] = []
        self.connect = PacedConnect(self._connect, lambda: self.now, self._sleep)

    async def _connect(self, host: str, port: int, **options: Any) -> str:
        self.attempts.append(self.now)
        if not self.answers:
            raise ConnectionRefusedError("refused")
        return f"{host}:{port}"

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds if self.time_passes else 0.0

    async def fail(self, port: int = 9092) -> None:
        with pytest.raises(ConnectionRefusedError):
            await self.connect("broker", port)


async def test_pauses_between_attempts_double_up_to_a_bound() -> None:
    broker = FakeBroker()
    for _ in range(9):
        await broker.fail()
    pauses = [round(later - earlier, 3) for earlier, later in zip(broker.attempts, broker.attempts[1:], strict=False)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, *[MAX_PAUSE_SECONDS] * 4]


async def test_attempts_of_several_clients_count_as_one_round() -> None:
    broker = FakeBroker()
    await broker.fail()
    broker.time_passes = False
    for _ in range(20):
        await broker.fail()
    broker.time_passes = True
    await broker.fail()
    assert broker.attempts[-1] == pytest.approx(broker.attempts[0] + 0.1)


async def test_another_broker_is_tried_at_once() -> None:
    broker = FakeBroker()
    await broker.fail()
    await broker.fail(port=9093)
    assert broker.attempts == [1000.0, 1000.0]


async def test_an_outage_is_told_at_its_start_twice_a_minute_and_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    broker = FakeBroker()
    while broker.now < 1000 + 2 * REPORT_SECONDS + 5:
        await broker.fail()
    broker.answers = True
    assert await broker.connect("broker", 9092) == "broker:9092"
    assert [line.split(":9092 ")[1].split(" and")[0] for line in caplog.messages] == [
        "can't be reached",
        "can't be reached for 30 s",
        "can't be reached for 60 s",
        "answers again, after 66 s.",
    ]
    await broker.connect("broker", 9092)
    assert len(caplog.messages) == 4


def test_lines_about_attempts_are_dropped_and_equal_lines_are_logged_once_in_a_while() -> None:
    now = [0.0]
    log_filter = RepetitionFilter(lambda: now[0])

    def is_logged(message: str, *args: object) -> bool:
        return log_filter.filter(logging.LogRecord("aiokafka", logging.ERROR, "", 0, message, args, None))

    assert not is_logged("Unable to update metadata from %s", [1])
    assert not is_logged("Failed fetch messages from %s: %s", 1, NodeNotReadyError())
    assert not is_logged("Heartbeat send request failed: %s. Will retry.", KafkaConnectionError())
    assert [is_logged("Topic %s not found", name) for name in "aba"] == [True, True, False]
    now[0] = REPORT_SECONDS
    assert is_logged("Topic %s not found", "a")


async def test_clients_of_the_library_connect_this_way() -> None:
    quiet_reconnects()
    installed = client.create_conn
    quiet_reconnects()
    assert isinstance(installed, PacedConnect)
    assert client.create_conn is installed
    with pytest.raises(KafkaConnectionError):
        await client.AIOKafkaClient(bootstrap_servers="127.0.0.1:1").bootstrap()
    assert "127.0.0.1:1" in installed._outages


async def test_a_request_that_times_out_after_its_connection_was_given_up_is_a_timeout() -> None:
    quiet_reconnects()
    kafka_client = client.AIOKafkaClient(bootstrap_servers="127.0.0.1:1")

    class GivenUpConnection:
        def connected(self) -> bool:
            return True

        def send(self, request: object, *, expect_response: bool) -> "asyncio.Future[None]":
            kafka_client._conns.clear()
            answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            answer.set_exception(TimeoutError())
            return answer

    kafka_client._conns[(1, client.ConnectionGroup.DEFAULT)] = GivenUpConnection()
    with pytest.raises(RequestTimedOutError):
        await kafka_client.send(1, object())


@pytest.mark.parametrize("name", ["send", "_send_sasl_token"])
def test_writing_to_a_connection_that_was_just_lost_is_a_connection_error(name: str) -> None:
    quiet_reconnects()

    async def main() -> None:
        connection = conn.AIOKafkaConnection("127.0.0.1", 1)
        async with await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0) as server:
            connection._reader, connection._writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            connection._read_task = asyncio.ensure_future(asyncio.sleep(0))
            connection._writer.transport.abort()
            with suppress(ConnectionError):
                await connection._writer.wait_closed()
            with pytest.raises(KafkaConnectionError):
                getattr(connection, name)(b"a request")
        assert not connection.connected()

    with asyncio.Runner(loop_factory=new_fair_event_loop) as runner:
        runner.run(main())
