"""The service with a language model: better memories while it answers, and nothing lost while it does not."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.events import ModelUsageRecorded
from schemas.topics import USAGE_RECORDED
from tests.support.chat_endpoint_double import (
    ChatEndpointDouble,
    completion,
    error_answer,
    every_line_a_fact,
    serve,
)
from tests.support.generation_rows import read_all_rows, row_differences
from tests.support.service_world import RunningService, running_service, wait_until

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def service_with_model(folder: Path, double: ChatEndpointDouble, **fields: Any) -> AsyncIterator[RunningService]:
    """A service whose memories this model finds."""
    async with (
        serve(double) as url,
        running_service(folder, llm_base_url=url, llm_model="double", **fields) as opened,
    ):
        yield opened


async def memory_texts(service: RunningService, namespace: str) -> list[str]:
    return [memory["memory"] for memory in await service.list_items(namespace, "memories")]


async def pending_documents(service: RunningService) -> list[Any]:
    status = await service.client.ok("GET", "/admin/status")
    assert status["delayedCount"] >= len(status["delayed"])
    found: list[Any] = status["delayed"]
    return found


async def test_memories_are_what_it_found_and_a_replay_does_not_ask_it_again(tmp_path: Path) -> None:
    double = ChatEndpointDouble()
    async with service_with_model(tmp_path, double) as service:
        await service.client.ok("PATCH", "/organization", {"organizationalContext": "We build boats."})
        await service.add_document("home", "Ada sails on Sundays.\nBob is her mate.", id="a")
        await service.client.ok("PATCH", "/ns/home", {"supportingContext": "Logs of a crew."})
        await service.wait_idle()
        await service.add_document(
            "home", "Ada sails fast.", id="b", supportingContext="Eve writes.", dreaming="dynamic"
        )
        await service.wait_idle()
        assert sorted(await memory_texts(service, "home")) == [
            "Ada sails fast.",
            "Ada sails on Sundays.",
            "Bob is her mate.",
        ]
        first, second = double.bodies
        assert "We build boats." in first["messages"][0]["content"]
        assert "Logs of a crew." in second["messages"][0]["content"]
        assert "<about>Eve writes.</about>" in second["messages"][1]["content"]
        assert "Ada sails on Sundays." in second["messages"][1]["content"], "what is known nearby"
        usage = [
            ModelUsageRecorded.model_validate_json(record.value)
            async for record in service.pipeline.bus.read(USAGE_RECORDED.name)
        ]
        assert [(event.documents, event.input_tokens, event.outcome) for event in usage] == [(1, 100, "formed")] * 2
        before = await read_all_rows(service.pipeline.store)
        await service.client.ok("POST", "/admin/replay", {})
        await wait_until(lambda: _active_generation(service, 1), "the replay")
        await service.wait_idle()
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
        assert len(double.calls) == 2


async def _active_generation(service: RunningService, generation: int) -> bool:
    return service.pipeline.generation.number == generation


async def test_what_it_refuses_or_garbles_the_rules_read(tmp_path: Path) -> None:
    double = ChatEndpointDouble()
    async with service_with_model(tmp_path, double) as service:
        for number, answer in enumerate([completion("no", refusal="I won't"), completion('{"memories": [')]):
            double.fail(answer, times=2)
            await service.add_document("home", f"I live in Town{number}.", id=f"d{number}")
            await service.wait_idle()
            double.faults.clear()
        assert "User lives in Town1" in await memory_texts(service, "home")
        assert await pending_documents(service) == []


@pytest.mark.parametrize("mode", ["instant", "dynamic"])
async def test_while_it_is_away_a_document_dreams_and_says_why_and_then_gets_its_memories(
    tmp_path: Path, mode: str
) -> None:
    double = ChatEndpointDouble()
    double.fail(error_answer(503, "overloaded"), times=1_000)  # until it is back, below
    async with service_with_model(tmp_path, double) as service:
        await service.add_document("home", "Ada sails.", id="a", dreaming=mode)

        async def told() -> list[Any]:
            return await pending_documents(service)

        [late] = await wait_until(told, "a reason")
        assert (late["namespace"], late["id"]) == ("home", "a")
        assert "overloaded" in late["error"]
        read = await service.read_document("home", "a")
        assert read["system"]["dreamingStatus"] == "dreaming"
        assert [result["chunk"] for result in await service.search("home", "sails") if "chunk" in result]
        double.faults.clear()
        await service.wait_idle()
        read = await service.read_document("home", "a")
        assert (read["system"]["dreamingStatus"], len(read["memories"])) == ("done", 1)
        assert await pending_documents(service) == []
    assert len(double.calls) >= 2


async def test_while_it_hangs_the_rules_fill_in_and_it_is_asked_again(tmp_path: Path) -> None:
    double = ChatEndpointDouble()
    double.unanswered = 2
    async with service_with_model(tmp_path, double, llm_timeout_seconds=0.2) as service:
        await service.add_document("home", "Ada lives in Rome.\nCalm seas tonight.", id="a")

        async def by_rules() -> bool:
            return await memory_texts(service, "home") == ["Ada lives in Rome"]

        await wait_until(by_rules, "the memories that the rules find")
        assert [late["id"] for late in await pending_documents(service)] in (["a"], [])
        await service.wait_idle()
        assert "Calm seas tonight." in await memory_texts(service, "home")
        assert await pending_documents(service) == []
        before = await read_all_rows(service.pipeline.store)
        await service.client.ok("POST", "/admin/replay", {})
        await wait_until(lambda: _active_generation(service, 1), "the replay")
        await service.wait_idle()
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
        double.released.set()


async def test_what_waits_outlives_a_restart(tmp_path: Path) -> None:
    double = ChatEndpointDouble()
    double.fail(error_answer(503), times=1000)
    async with service_with_model(tmp_path, double) as service:
        await service.add_document("home", "Ada sails.", id="a")

        async def told() -> list[Any]:
            return await pending_documents(service)

        await wait_until(told, "a reason")
    async with service_with_model(tmp_path, ChatEndpointDouble()) as service:
        await service.wait_idle()
        assert await memory_texts(service, "home") == ["Ada sails."]


async def test_without_the_model_again_the_rules_form_what_waits(tmp_path: Path) -> None:
    double = ChatEndpointDouble()
    double.fail(error_answer(401, "wrong key"), times=1000)
    async with service_with_model(tmp_path, double) as service:
        await service.add_document("home", "I live in Rome.", id="a")

        async def told() -> list[Any]:
            return await pending_documents(service)

        [late] = await wait_until(told, "a reason")
        assert "wrong key" in late["error"]
    async with running_service(tmp_path) as service:
        await service.wait_idle()
        assert await memory_texts(service, "home") == ["User lives in Rome"]


async def test_related_documents_of_a_quiet_namespace_are_asked_about_together(tmp_path: Path) -> None:
    double = ChatEndpointDouble()
    async with service_with_model(tmp_path, double, dreaming_debounce_seconds=0.5) as service:
        documents = [{"id": f"d{number}", "content": f"Ada has {number} boats."} for number in range(5)]
        documents[4]["group"] = {"trip": "x"}  # type: ignore[assignment]  # JSON
        await service.client.ok("POST", "/ns/home/document/batch", {"documents": documents})
        await service.wait_idle()
        assert len(await memory_texts(service, "home")) == 5
    asked = [body["messages"][1]["content"].count("<document ") for body in double.bodies]
    assert sorted(asked) == [1, 4]


async def test_one_answer_that_does_not_come_holds_up_nobody_else(tmp_path: Path) -> None:
    double = ChatEndpointDouble()
    double.unanswered = 1
    async with service_with_model(tmp_path, double, dreaming_debounce_seconds=0.1) as service:
        await service.add_document("slow", "Ada sails.", id="a", dreaming="dynamic")
        await double.asked.wait()
        await service.add_document("quick", "Bob sails.", id="b", dreaming="dynamic")

        async def quick() -> list[str]:
            return await memory_texts(service, "quick")

        assert await wait_until(quick, "the other one's memories") == ["Bob sails."]
        assert await memory_texts(service, "slow") == []
        double.released.set()
        await service.wait_idle()
        assert await memory_texts(service, "slow") == ["Ada sails."]


async def test_it_says_how_else_to_ask_and_while_it_does_not_the_rules_do(tmp_path: Path) -> None:
    def mind(body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"]
        return json.dumps({"questions": ["Ada's boat"]}) if "Titanic" in asked else every_line_a_fact(body)

    double = ChatEndpointDouble(mind)
    async with service_with_model(tmp_path, double) as service:
        await service.add_document("home", "Ada has a boat.", id="a")
        await service.wait_idle()
        asked = {"query": "Whose Titanic?", "rewriteQuery": True}

        async def answers() -> set[str]:
            found = await service.client.ok("POST", "/ns/home/search", asked)
            return {result.get("memory") or result["chunk"] for result in found["results"]}

        assert await wait_until(answers, "an answer in time") == {"Ada has a boat."}
        double.fail(error_answer(429, "slow down"), times=1000)
        assert await answers() == set()

        async def told() -> list[Any]:
            events = [
                ModelUsageRecorded.model_validate_json(record.value)
                async for record in service.pipeline.bus.read(USAGE_RECORDED.name)
            ]
            return [event for event in events if event.outcome == "rewritten"]

        [event, *_] = await wait_until(told, "its cost")
        assert (event.purpose, event.calls, event.input_tokens, event.output_tokens) == ("queries", 1, 100, 20)
