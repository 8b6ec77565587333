"""The AsyncAPI document matches the stages of a real pipeline."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.pipeline_supervisor import open_supervisor
from pipeline.settings import Settings
from schemas.topics import ALL_TOPICS
from tools.write_asyncapi import OUTPUT_PATH, render


@pytest.mark.anyio
async def test_the_document_is_not_stale() -> None:
    assert OUTPUT_PATH.read_text() == await render(), "run `make asyncapi`"


@pytest.mark.anyio
async def test_every_topic_is_sent_and_every_stage_receives_from_its_own(tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads(OUTPUT_PATH.read_text())
    actions = {name: operation["action"] for name, operation in document["operations"].items()}
    async with open_supervisor(Settings(data_dir=tmp_path, embedder="none")) as supervisor:
        stages = {stage.name: stage.source.name for stage in supervisor.pipeline.stages}
    assert actions == {**{topic.name: "send" for topic in ALL_TOPICS}, **dict.fromkeys(stages, "receive")}
    assert {name: document["channels"][name]["address"] for name in stages} == stages
