"""Tables and blobs at a real S3 server: the service answers as it does on a folder, also after a restart."""

from pathlib import Path
from typing import Any

import pytest

from schemas.limits import INLINE_BYTES
from tests.s3 import S3
from tests.service.world import world

pytestmark = pytest.mark.anyio


async def test_what_was_added_is_found_and_outlives_the_process(tmp_path: Path, s3: S3) -> None:
    options = s3.options
    fields: dict[str, Any] = {
        "lance_uri": f"{s3.uri()}/tables",
        "blob_uri": f"{s3.uri()}/blobs",
        "storage_endpoint": options["endpoint"],
        "storage_region": options["region"],
        "storage_access_key_id": options["access_key_id"],
        "storage_secret_access_key": options["secret_access_key"],
    }
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
