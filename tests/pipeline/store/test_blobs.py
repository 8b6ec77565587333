"""Claim checks in a folder."""

import asyncio
import os
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import RejectedError
from pipeline.store.blobs import FolderBlobs
from schemas.events import BlobRef, Content
from schemas.limits import INLINE_BYTES

pytestmark = pytest.mark.anyio


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=2000))
def test_what_was_put_is_what_is_got(data: bytes) -> None:
    async def there_and_back() -> bytes:
        with TemporaryDirectory() as folder:
            blobs = FolderBlobs(Path(folder))
            return await blobs.get(await blobs.put(data, "application/pdf"))

    assert asyncio.run(there_and_back()) == data


async def test_a_blob_is_named_after_its_hash(blobs: FolderBlobs, tmp_path: Path) -> None:
    ref = await blobs.put(b"some bytes", "text/css")
    digest = sha256(b"some bytes").hexdigest()
    assert ref == BlobRef(sha256=digest, size=10, media_type="text/css")
    assert files(tmp_path) == [tmp_path / "blobs" / digest[:2] / digest[2:]]


async def test_the_same_bytes_are_stored_once(blobs: FolderBlobs, tmp_path: Path) -> None:
    refs = await asyncio.gather(*(blobs.put(b"same", "text/plain") for _ in range(8)))
    assert len(set(refs)) == 1
    assert len(files(tmp_path)) == 1


async def test_a_missing_blob_is_rejected(blobs: FolderBlobs) -> None:
    with pytest.raises(RejectedError, match="missing"):
        await blobs.get(BlobRef(sha256="0" * 64, size=1))


async def test_a_changed_blob_is_rejected_and_healed_by_the_next_put(
    blobs: FolderBlobs, tmp_path: Path
) -> None:
    ref = await blobs.put(b"right", "text/plain")
    files(tmp_path)[0].write_bytes(b"wrong")
    with pytest.raises(RejectedError, match="changed on disk"):
        await blobs.get(ref)
    await blobs.put(b"right", "text/plain")
    assert await blobs.get(ref) == b"right"


@pytest.mark.parametrize("name", ["../../../etc/passwd", "", "A" * 64, "0" * 63])
async def test_a_name_that_is_no_hash_is_rejected(blobs: FolderBlobs, name: str) -> None:
    with pytest.raises(RejectedError, match="no SHA-256"):
        await blobs.get(BlobRef(sha256=name, size=1))


@pytest.mark.parametrize("text", ["", "short", "ü" * (INLINE_BYTES // 2), "x" * (INLINE_BYTES + 1)])
async def test_a_text_comes_back_from_inline_or_blob(blobs: FolderBlobs, text: str) -> None:
    content = await blobs.pack(text)
    assert (content.blob is not None) == (len(text.encode()) > INLINE_BYTES)
    assert await blobs.text(content) == text


async def test_bytes_that_are_no_text_are_rejected_as_text(blobs: FolderBlobs) -> None:
    with pytest.raises(RejectedError, match="UTF-8"):
        await blobs.text(Content(blob=await blobs.put(b"\xff", "text/plain")))


async def test_a_content_without_anything_is_rejected(blobs: FolderBlobs) -> None:
    with pytest.raises(RejectedError, match="neither"):
        await blobs.text(Content())


async def test_leftovers_of_dead_writers_are_swept(blobs: FolderBlobs, tmp_path: Path) -> None:
    ref = await blobs.put(b"kept", "text/plain")
    old, young = (files(tmp_path)[0].with_name(name) for name in ("old.part", "young.part"))
    old.write_bytes(b"")
    young.write_bytes(b"")
    os.utime(old, (0, 0))
    assert await blobs.sweep() == 1
    assert young.exists()
    assert await blobs.get(ref) == b"kept"
