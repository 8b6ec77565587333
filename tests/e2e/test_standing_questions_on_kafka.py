"""Standing questions where one process answers and another works, on Kafka."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from bench.http_request import request
from bench.service_process import Server
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tests.support.webhook_receiver import WebhookReceiver, is_signed, webhook_receiver
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.anyio]


class Processes:
    """A process that answers and one that works."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        settings = {
            "RECOLLECT_KAFKA_BOOTSTRAP": bootstrap,
            "RECOLLECT_LOG_PARTITIONS": "2",
            "RECOLLECT_SHARDS": "1",
            "RECOLLECT_EMBEDDER": "wordllama",
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
            "RECOLLECT_FETCH_PRIVATE_ADDRESSES": "true",
        }
        key = f"rk_{secrets.token_hex(16)}"
        self.api = Server(folder / "data", settings, only="api", key=key)
        self.pipeline = Server(folder / "data", settings, only="pipeline", key=key)

    async def start(self) -> None:
        """Both at once."""
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in (self.api, self.pipeline)))

    async def stop(self) -> None:
        """Both at once."""
        await asyncio.gather(*(asyncio.to_thread(server.stop) for server in (self.api, self.pipeline)))

    async def ok(self, method: str, path: str, body: Any) -> Any:
        """The JSON of a request that goes well."""
        answer = await asyncio.to_thread(
            request, self.api.url, self.api.key, method, path, json=body, timeout=WAIT_TIMEOUT_SECONDS
        )
        assert answer.is_success, answer.text
        return answer.json()

    async def say(self, id_: str, content: str) -> None:
        """Add a document whose memories are formed at once."""
        await self.ok("POST", "/ns/ada/document", {"id": id_, "content": content, "dreaming": "instant"})


@pytest.fixture
async def processes(tmp_path: Path, own_kafka: LocalBroker | DockerBroker) -> AsyncIterator[Processes]:
    both = Processes(tmp_path, own_kafka.bootstrap)
    try:
        await both.start()
        yield both
    finally:
        await both.stop()


async def test_answers_are_delivered_signed_and_across_the_death_of_the_process_that_works(
    processes: Processes,
) -> None:
    async with webhook_receiver() as receiver:
        asked = await processes.ok(
            "POST", "/ns/ada/explain/questions", {"query": "Where does she live?", "url": receiver.url}
        )
        await processes.say("first", "I live in Madrid.")
        await _until_answered(receiver, 1)
        await asyncio.to_thread(processes.pipeline.kill)
        await processes.say("second", "I moved to Porto.")
        await asyncio.to_thread(processes.pipeline.start)
        await _until_answered(receiver, 2)
        await processes.say("third", "I moved to Oslo.")
        answers = await _until_answered(receiver, 3)
    assert [answer["memories"][0]["document"] for answer in answers.values()] == ["first", "second", "third"]
    assert all(is_signed(asked["secret"], *parts) for parts in zip(receiver.attempts, receiver.raw, strict=True))


async def _until_answered(receiver: WebhookReceiver, count: int) -> dict[str, Any]:
    """Bodies by id: a process that dies before it has written down an answer delivers again, with the same id."""
    answers: dict[str, Any] = {body["id"]: body for body in receiver.received}
    seen = len(receiver.received)
    while len(answers) < count:
        answers = {body["id"]: body for body in await receiver.until_received(seen + 1)}
        seen = len(receiver.received)
    return answers
