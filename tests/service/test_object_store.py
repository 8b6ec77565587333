"""Tables and blobs at a real S3 server: the service answers as it does on a folder, also after a restart."""

from pathlib import Path

import pytest

from schemas.limits import MAX_INLINE_BYTES
from tests.support.generation_rows import fill_with_samples, read_all_rows, row_differences, run_replay
from tests.support.service_world import running_service
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio


async def test_what_was_added_is_found_and_outlives_the_process(tmp_path: Path, s3: S3Server) -> None:
    fields = s3.service_settings()
    long = "Ada lives in Berlin. " + "She plays the cello and walks by the river. " * (MAX_INLINE_BYTES // 40)
    async with running_service(tmp_path, **fields) as service:
        await service.add_document("home", long, id="long")
        await service.add_document("home", "Bob bakes bread.", id="bob")
        await service.wait_idle()
        assert await service.search("home", "Who bakes bread?")
        listed = await service.list_items("home", "documents", include={"content": True})
    assert not (tmp_path / "tables").exists()
    assert not (tmp_path / "blobs").exists()
    async with running_service(tmp_path, **fields) as service:
        assert await service.list_items("home", "documents", include={"content": True}) == listed
        assert {row["id"]: row["content"] for row in listed}["long"].strip() == long.strip()
        assert await service.search("home", "Who bakes bread?")


async def test_tables_there_are_made_again_and_the_pointer_names_them(tmp_path: Path, s3: S3Server) -> None:
    fields = s3.service_settings()
    async with running_service(tmp_path, **fields) as service:
        await fill_with_samples(service)
        before = await read_all_rows(service.pipeline.store)
        for number in (1, 2):
            ended = await run_replay(service)
            assert (ended["state"], ended["error"], ended["generation"]) == ("done", None, number)
            assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
        assert (await service.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [1]
        plan = await service.client.ok("POST", "/admin/replay/plan", {})
        assert (plan["current"], plan["previous"]) == (2, None)
        assert plan["bytes"] > 0
    async with running_service(tmp_path, **fields) as service:
        assert service.pipeline.generation.number == 2
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
