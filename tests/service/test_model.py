"""The service with a language model: better memories while it answers, and nothing lost while it does not."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.events import UsageRecorded
from schemas.topics import USAGE_RECORDED
from tests.pipeline.inference.model import ModelDouble, answering, attentive, refused, said
from tests.service.generations import differences, rows_of
from tests.service.world import World, until, world

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def thinking(folder: Path, double: ModelDouble, **fields: Any) -> AsyncIterator[World]:
    """A service whose memories this model finds."""
    async with (
        answering(double) as url,
        world(folder, llm_base_url=url, llm_model="double", **fields) as opened,
    ):
        yield opened


async def memories(service: World, namespace: str) -> list[str]:
    return [one["memory"] for one in await service.listed(namespace, "memories")]


async def waiting(service: World) -> list[Any]:
    status = await service.client.ok("GET", "/admin/status")
    assert status["waitingCount"] >= len(status["waiting"])
    found: list[Any] = status["waiting"]
    return found


async def test_memories_are_what_it_found_and_a_replay_does_not_ask_it_again(tmp_path: Path) -> None:
    double = ModelDouble()
    async with thinking(tmp_path, double) as service:
        await service.client.ok("PATCH", "/organization", {"organizationalContext": "We build boats."})
        await service.add("home", "Ada sails on Sundays.\nBob is her mate.", id="a")
        await service.client.ok("PATCH", "/ns/home", {"supportingContext": "Logs of a crew."})
        await service.settled()
        await service.add(
            "home", "Ada sails fast.", id="b", supportingContext="Eve writes.", dreaming="dynamic"
        )
        await service.settled()
        assert sorted(await memories(service, "home")) == [
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
            UsageRecorded.model_validate_json(record.value)
            async for record in service.pipeline.bus.read(USAGE_RECORDED.name)
        ]
        assert [(one.documents, one.input_tokens, one.outcome) for one in usage] == [(1, 100, "formed")] * 2
        before = await rows_of(service.pipeline.store)
        await service.client.ok("POST", "/admin/replay", {})
        await until(lambda: _served(service, 1), "the replay")
        await service.settled()
        assert differences(before, await rows_of(service.pipeline.store)) == []
        assert len(double.calls) == 2


async def _served(service: World, generation: int) -> bool:
    return service.pipeline.generation.number == generation


async def test_what_it_refuses_or_garbles_the_rules_read(tmp_path: Path) -> None:
    double = ModelDouble()
    async with thinking(tmp_path, double) as service:
        for number, answer in enumerate([said("no", refusal="I won't"), said('{"memories": [')]):
            double.fail(answer, times=2)
            await service.add("home", f"I live in Town{number}.", id=f"d{number}")
            await service.settled()
            double.faults.clear()
        assert "User lives in Town1" in await memories(service, "home")
        assert await waiting(service) == []


@pytest.mark.parametrize("mode", ["instant", "dynamic"])
async def test_while_it_is_away_a_document_dreams_and_says_why_and_then_gets_its_memories(
    tmp_path: Path, mode: str
) -> None:
    double = ModelDouble()
    double.fail(refused(503, "overloaded"), times=2)
    async with thinking(tmp_path, double) as service:
        await service.add("home", "Ada sails.", id="a", dreaming=mode)

        async def told() -> list[Any]:
            return await waiting(service)

        [late] = await until(told, "a reason")
        assert (late["namespace"], late["id"]) == ("home", "a")
        assert "overloaded" in late["error"]
        read = await service.read("home", "a")
        assert read["system"]["dreamingStatus"] == "dreaming"
        assert [one["chunk"] for one in await service.search("home", "sails") if "chunk" in one]
        await service.settled()
        read = await service.read("home", "a")
        assert (read["system"]["dreamingStatus"], len(read["memories"])) == ("done", 1)
        assert await waiting(service) == []
    assert len(double.calls) == 3


async def test_what_waits_outlives_a_restart(tmp_path: Path) -> None:
    double = ModelDouble()
    double.fail(refused(503), times=1000)
    async with thinking(tmp_path, double) as service:
        await service.add("home", "Ada sails.", id="a")

        async def told() -> list[Any]:
            return await waiting(service)

        await until(told, "a reason")
    async with thinking(tmp_path, ModelDouble()) as service:
        await service.settled()
        assert await memories(service, "home") == ["Ada sails."]


async def test_without_the_model_again_the_rules_form_what_waits(tmp_path: Path) -> None:
    double = ModelDouble()
    double.fail(refused(401, "wrong key"), times=1000)
    async with thinking(tmp_path, double) as service:
        await service.add("home", "I live in Rome.", id="a")

        async def told() -> list[Any]:
            return await waiting(service)

        [late] = await until(told, "a reason")
        assert "wrong key" in late["error"]
    async with world(tmp_path) as service:
        await service.settled()
        assert await memories(service, "home") == ["User lives in Rome"]


async def test_related_documents_of_a_quiet_namespace_are_asked_about_together(tmp_path: Path) -> None:
    double = ModelDouble()
    async with thinking(tmp_path, double, dreaming_quiet_seconds=0.5) as service:
        documents = [{"id": f"d{number}", "content": f"Ada has {number} boats."} for number in range(5)]
        documents[4]["group"] = {"trip": "x"}  # type: ignore[assignment]  # JSON
        await service.client.ok("POST", "/ns/home/document/batch", {"documents": documents})
        await service.settled()
        assert len(await memories(service, "home")) == 5
    asked = [body["messages"][1]["content"].count("<document ") for body in double.bodies]
    assert sorted(asked) == [1, 4]


async def test_one_answer_that_does_not_come_holds_up_nobody_else(tmp_path: Path) -> None:
    double = ModelDouble()
    double.silent = 1
    async with thinking(tmp_path, double, dreaming_quiet_seconds=0.1) as service:
        await service.add("slow", "Ada sails.", id="a", dreaming="dynamic")
        await double.asked.wait()
        await service.add("quick", "Bob sails.", id="b", dreaming="dynamic")

        async def quick() -> list[str]:
            return await memories(service, "quick")

        assert await until(quick, "the other one's memories") == ["Bob sails."]
        assert await memories(service, "slow") == []
        double.released.set()
        await service.settled()
        assert await memories(service, "slow") == ["Ada sails."]


async def test_it_says_how_else_to_ask_and_while_it_does_not_the_rules_do(tmp_path: Path) -> None:
    def mind(body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"]
        return json.dumps({"questions": ["Ada's boat"]}) if "vessel" in asked else attentive(body)

    double = ModelDouble(mind)
    async with thinking(tmp_path, double) as service:
        await service.add("home", "Ada has a boat.", id="a")
        await service.settled()
        asked = {"query": "Whose vessel?", "rewriteQuery": True}

        async def answers() -> set[str]:
            found = await service.client.ok("POST", "/ns/home/search", asked)
            return {one.get("memory") or one["chunk"] for one in found["results"]}

        assert await until(answers, "an answer in time") == {"Ada has a boat."}
        double.fail(refused(429, "slow down"), times=1000)
        assert await answers() == set()

        async def told() -> list[Any]:
            events = [
                UsageRecorded.model_validate_json(record.value)
                async for record in service.pipeline.bus.read(USAGE_RECORDED.name)
            ]
            return [one for one in events if one.outcome == "rewritten"]

        [one, *_] = await until(told, "its cost")
        assert (one.purpose, one.calls, one.input_tokens, one.output_tokens) == ("queries", 1, 100, 20)
