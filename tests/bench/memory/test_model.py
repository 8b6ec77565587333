"""What a language model remembers is measured like what the rules do."""

import json

import pytest

from bench.memory import __main__ as memory_bench
from bench.memory.conversations import Conversation
from bench.memory.model import Told, extracted_by
from tests.pipeline.inference.model import ModelDouble, answering, memory, refused, said

pytestmark = pytest.mark.anyio


def _attentive(_: object) -> str:
    return json.dumps({"memories": [memory(1, "Ann lives in Rome", quote="I live in Rome.")]})


async def test_what_it_finds_counts_with_the_turns_that_it_quotes(talk: Conversation) -> None:
    told = Told()
    async with answering(ModelDouble(_attentive)) as url:
        [[one]] = await extracted_by(url, "double", [talk], told)
    assert (one.text, one.speaker, sorted(one.turns)) == ("Ann lives in Rome", "Ann", ["D1:1"])
    assert told.line().startswith("Questions: 1 formed; 100 tokens in, 20 out")


async def test_what_it_garbles_is_said_to_be_the_work_of_rules(talk: Conversation) -> None:
    told, double = Told(), ModelDouble()
    double.fail(said("no"), times=2)
    async with answering(double) as url:
        [found] = await extracted_by(url, "double", [talk], told)
    assert "Ann lives in Rome" in {one.text for one in found}
    assert told.line().startswith("Questions: 1 unusable")


async def test_an_endpoint_that_is_away_ends_it_with_the_reason(talk: Conversation) -> None:
    double = ModelDouble()
    double.fail(refused(401, "wrong key"))
    async with answering(double) as url:
        with pytest.raises(SystemExit, match="wrong key"):
            await extracted_by(url, "double", [talk], Told())


async def test_its_tables_end_with_what_it_cost(
    talk: Conversation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_bench, "is_there", lambda: False)
    async with answering(ModelDouble(_attentive)) as url:
        await memory_bench.measure([talk], url, "double")
    printed = capsys.readouterr().out
    assert "| a session each | hybrid | 100.0 |" in printed
    assert "sentences per second" not in printed
    assert printed.splitlines()[-1].startswith("Questions: 1 formed")
