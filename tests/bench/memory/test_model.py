"""Memories of a language model are measured like those of the rules."""

import json

import pytest

from bench.memory import __main__ as memory_bench
from bench.memory.conversations import Conversation
from bench.memory.language_model import LlmCallStats, extracted_by
from tests.support.chat_endpoint_double import ChatEndpointDouble, completion, error_answer, memory, serve

pytestmark = pytest.mark.anyio


def _attentive(_: object) -> str:
    return json.dumps({"memories": [memory(1, "Ann lives in Rome", quote="I live in Rome.")]})


async def test_what_it_finds_counts_with_the_turns_that_it_quotes(talk: Conversation) -> None:
    stats = LlmCallStats()
    async with serve(ChatEndpointDouble(_attentive)) as url:
        [[memory]] = await extracted_by(url, "double", [talk], stats)
    assert (memory.text, memory.speaker, sorted(memory.turns)) == ("Ann lives in Rome", "Ann", ["D1:1"])
    assert stats.summary_line().startswith("Questions: 1 formed; 100 tokens in, 20 out")


async def test_what_it_garbles_is_said_to_be_the_work_of_rules(talk: Conversation) -> None:
    stats, double = LlmCallStats(), ChatEndpointDouble()
    double.fail(completion("no"), times=2)
    async with serve(double) as url:
        [found] = await extracted_by(url, "double", [talk], stats)
    assert "Ann lives in Rome" in {memory.text for memory in found}
    assert stats.summary_line().startswith("Questions: 1 unusable")


async def test_an_endpoint_that_is_away_ends_it_with_the_reason(talk: Conversation) -> None:
    double = ChatEndpointDouble()
    double.fail(error_answer(401, "wrong key"))
    async with serve(double) as url:
        with pytest.raises(SystemExit, match="wrong key"):
            await extracted_by(url, "double", [talk], LlmCallStats())


async def test_its_tables_end_with_what_it_cost(
    talk: Conversation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_bench, "is_installed", lambda: False)
    async with serve(ChatEndpointDouble(_attentive)) as url:
        await memory_bench.measure([talk], url, "double")
    printed = capsys.readouterr().out
    assert "| a session each | hybrid | 100.0 |" in printed
    assert "sentences per second" not in printed
    assert printed.splitlines()[-1].startswith("Questions: 1 formed")
