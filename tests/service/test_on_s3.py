"""Tables and blobs at a real S3 server: the service answers as it does on a folder, also after a restart."""

from pathlib import Path

import pytest

from schemas.limits import INLINE_BYTES
from tests.s3 import S3
from tests.service.generations import differences, fill, replayed, rows_of
from tests.service.world import world

pytestmark = pytest.mark.anyio


async def test_what_was_added_is_found_and_outlives_the_process(tmp_path: Path, s3: S3) -> None:
    fields = s3.settings()
    long = "Ada lives in Berlin. " + "She plays the cello and walks by the river. " * (INLINE_BYTES // 40)
    async with world(tmp_path, **fields) as service:
        await service.add("home", long, id="long")
        await service.add("home", "Bob bakes bread.", id="bob")
        await service.settled()
        assert await service.search("home", "Who bakes bread?")
        listed = await service.listed("home", "documents", include={"content": True})
    assert not (tmp_path / "tables").exists()
    assert not (tmp_path / "blobs").exists()
    async with world(tmp_path, **fields) as service:
        assert await service.listed("home", "documents", include={"content": True}) == listed
        assert {row["id"]: row["content"] for row in listed}["long"].strip() == long.strip()
        assert await service.search("home", "Who bakes bread?")


async def test_tables_there_are_made_again_and_the_pointer_names_them(tmp_path: Path, s3: S3) -> None:
    fields = s3.settings()
    async with world(tmp_path, **fields) as service:
        await fill(service)
        before = await rows_of(service.pipeline.store)
        for number in (1, 2):
            ended = await replayed(service)
            assert (ended["state"], ended["error"], ended["generation"]) == ("done", None, number)
            assert differences(before, await rows_of(service.pipeline.store)) == []
        assert (await service.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [1]
        plan = await service.client.ok("POST", "/admin/replay/plan", {})
        assert (plan["current"], plan["previous"]) == (2, None)
        assert plan["bytes"] > 0
    async with world(tmp_path, **fields) as service:
        assert service.pipeline.generation.number == 2
        assert differences(before, await rows_of(service.pipeline.store)) == []
