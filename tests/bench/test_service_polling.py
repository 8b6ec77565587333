"""Waiting for a service over HTTP."""

import asyncio
import json

import pytest

from bench.http_connection import HttpConnection, UnexpectedAnswerError
from bench.service_polling import wait_for_zero_lag


class _Answers(HttpConnection):
    """Gives these answers, one a request."""

    def __init__(self, *answers: tuple[int, dict[str, int]]) -> None:
        super().__init__("http://127.0.0.1:1", "key")
        self.left = list(answers)

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        status, lag = self.left.pop(0)
        return status, json.dumps({"lag": lag}).encode()


def test_a_service_that_is_not_ready_for_a_while_is_waited_for() -> None:
    connection = _Answers((200, {"extract": 3}), (503, {"extract": 0}), (503, {}), (200, {"extract": 0}))
    asyncio.run(wait_for_zero_lag(connection, 0))
    assert connection.left == []


def test_an_answer_that_is_no_readiness_ends_the_waiting() -> None:
    with pytest.raises(UnexpectedAnswerError, match="GET /ready answered 401"):
        asyncio.run(wait_for_zero_lag(_Answers((401, {})), 0))
