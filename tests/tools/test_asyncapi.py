"""The AsyncAPI document says what is: it is made from the stages of a real pipeline."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.live import open_live
from pipeline.settings import Settings
from schemas.topics import ALL
from tools.asyncapi import PAGE, written


@pytest.mark.anyio
async def test_the_document_is_not_stale() -> None:
    assert PAGE.read_text() == await written(), "run `make asyncapi`"


@pytest.mark.anyio
async def test_every_topic_is_sent_and_every_stage_receives_from_its_own(tmp_path: Path) -> None:
    page: dict[str, Any] = json.loads(PAGE.read_text())
    does = {name: operation["action"] for name, operation in page["operations"].items()}
    async with open_live(Settings(data_dir=tmp_path, embedder="none")) as live:
        stages = {stage.name: stage.source.name for stage in live.pipeline.stages}
    assert does == {**{topic.name: "send" for topic in ALL}, **dict.fromkeys(stages, "receive")}
    assert {name: page["channels"][name]["address"] for name in stages} == stages
