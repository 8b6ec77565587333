"""Claim checks, in a folder and at a real S3 server."""

import asyncio
import os
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import obstore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore

from pipeline.bus.sealing.key_table import KeyTable
from pipeline.bus.sealing.sealer import Sealer
from pipeline.errors import OutageError, RejectedError
from pipeline.store.blobs import blob_store
from pipeline.store.blobs.blob_sealing import PART_BYTES, key_name
from pipeline.store.blobs.blob_store import ContentAddressedBlobs, FolderBlobs, blob_path, open_blobs
from pipeline.store.blobs.object_store_blobs import ObjectStoreBlobs
from pipeline.store.blobs.object_store_client import SHORT_TIMEOUT, open_object_store
from pipeline.store.folder_files import open_files
from schemas.events import BlobRef, Content
from schemas.limits import MAX_INLINE_BYTES
from tests.support.fakes import FixedClock
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio


@pytest.fixture
def keys(tmp_path: Path) -> Sealer:
    return _sealer(tmp_path / "keys")


def _sealer(folder: Path) -> Sealer:
    return Sealer(KeyTable(open_files(str(folder), "keys"), [b"w" * 32], FixedClock().now), seals=True)


@pytest.fixture(params=["folder", "object store", "sealed folder", "sealed object store"])
async def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> ContentAddressedBlobs:
    """The contract of all kinds."""
    keys: Sealer | None = request.getfixturevalue("keys") if "sealed" in request.param else None
    if "folder" in request.param:
        return await open_blobs(str(tmp_path / "blobs"), None, keys)
    s3: S3Server = request.getfixturevalue("s3")
    return await open_blobs(s3.unused_uri(), s3.options, keys)


@pytest.fixture(params=["folder", "object store"])
async def sealed(request: pytest.FixtureRequest, tmp_path: Path, keys: Sealer) -> ContentAddressedBlobs:
    """Both kinds with keys."""
    if request.param == "folder":
        return await open_blobs(str(tmp_path / "blobs"), None, keys)
    s3: S3Server = request.getfixturevalue("s3")
    return await open_blobs(s3.unused_uri(), s3.options, keys)


async def read_stored(blobs: ContentAddressedBlobs, ref: BlobRef) -> bytes:
    """Read what lies under a blob's name."""
    if isinstance(blobs, ObjectStoreBlobs):
        return bytes(await (await obstore.get_async(blobs._store, blob_path(ref.sha256))).bytes_async())
    assert isinstance(blobs, FolderBlobs)
    return (blobs._folder / blob_path(ref.sha256)).read_bytes()


@pytest.fixture
def in_folder(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs")


async def damage(blobs: ContentAddressedBlobs, ref: BlobRef, data: bytes) -> None:
    """Other bytes under a blob's name."""
    if isinstance(blobs, ObjectStoreBlobs):
        await obstore.put_async(blobs._store, blob_path(ref.sha256), data)
    elif isinstance(blobs, FolderBlobs):
        (blobs._folder / blob_path(ref.sha256)).write_bytes(data)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=2000))
def test_put_bytes_are_read_back(data: bytes) -> None:
    async def there_and_back() -> bytes:
        with TemporaryDirectory() as folder:
            blobs = FolderBlobs(Path(folder))
            return await blobs.get(await blobs.put(data, "application/pdf"))

    assert asyncio.run(there_and_back()) == data


async def test_a_file_is_named_after_its_hash(in_folder: FolderBlobs, tmp_path: Path) -> None:
    ref = await in_folder.put(b"some bytes", "text/css")
    digest = sha256(b"some bytes").hexdigest()
    assert ref == BlobRef(sha256=digest, size=10, media_type="text/css")
    assert files(tmp_path) == [tmp_path / "blobs" / digest[:2] / digest[2:]]


async def test_the_same_bytes_are_one_blob(blobs: ContentAddressedBlobs) -> None:
    refs = await asyncio.gather(*(blobs.put(b"same", "text/plain") for _ in range(8)))
    assert len(set(refs)) == 1
    assert await blobs.get(refs[0]) == b"same"


async def test_the_same_bytes_are_stored_once(in_folder: FolderBlobs, tmp_path: Path) -> None:
    await asyncio.gather(*(in_folder.put(b"same", "text/plain") for _ in range(8)))
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("size", [0, 1, 6 * 1024 * 1024])
async def test_blobs_of_any_size_are_read_back(blobs: ContentAddressedBlobs, size: int) -> None:
    data = os.urandom(size)
    assert await blobs.get(await blobs.put(data, "application/octet-stream")) == data


async def test_a_streamed_blob_comes_in_parts_and_never_to_its_end_if_it_was_changed(
    blobs: ContentAddressedBlobs,
) -> None:
    data = os.urandom(9 * PART_BYTES) + b"!"
    ref = await blobs.put(data, "application/octet-stream")
    parts = [part async for part in blobs.stream(ref)]
    assert b"".join(parts) == data
    assert max(map(len, parts)) < len(data) / 3  # a client of S3 adds what the network hands over beyond a part
    await damage(blobs, ref, data[:-1] + b"?")
    read: list[bytes] = []
    with pytest.raises(RejectedError, match="changed"):
        await _read_into(read, blobs, ref)
    assert len(b"".join(read)) < len(data)
    with pytest.raises(RejectedError, match="missing"):
        await anext(blobs.stream(BlobRef(sha256="0" * 64, size=1)))


async def _read_into(parts: list[bytes], blobs: ContentAddressedBlobs, ref: BlobRef) -> None:
    async for part in blobs.stream(ref):
        parts.append(part)  # noqa: PERF401 - what came before an error is looked at


async def test_an_empty_blob_is_streamed(blobs: ContentAddressedBlobs) -> None:
    assert b"".join([part async for part in blobs.stream(await blobs.put(b"", "text/plain"))]) == b""


async def test_a_missing_blob_is_rejected(blobs: ContentAddressedBlobs) -> None:
    with pytest.raises(RejectedError, match="missing"):
        await blobs.get(BlobRef(sha256="0" * 64, size=1))


async def test_a_changed_blob_is_rejected_and_repaired_by_the_next_put(blobs: ContentAddressedBlobs) -> None:
    ref = await blobs.put(b"right", "text/plain")
    await damage(blobs, ref, b"wrong")
    with pytest.raises(RejectedError, match="changed"):
        await blobs.get(ref)
    await blobs.put(b"right", "text/plain")
    assert await blobs.get(ref) == b"right"


@pytest.mark.parametrize("name", ["../../../etc/passwd", "", "A" * 64, "0" * 63])
async def test_a_name_that_is_not_a_hash_is_rejected(blobs: ContentAddressedBlobs, name: str) -> None:
    with pytest.raises(RejectedError, match="not a SHA-256"):
        await blobs.get(BlobRef(sha256=name, size=1))


@pytest.mark.parametrize("text", ["", "short", "ü" * (MAX_INLINE_BYTES // 2), "x" * (MAX_INLINE_BYTES + 1)])
async def test_a_text_is_read_back_from_inline_or_blob(blobs: ContentAddressedBlobs, text: str) -> None:
    content = await blobs.store_text(text)
    assert (content.blob is not None) == (len(text.encode()) > MAX_INLINE_BYTES)
    assert await blobs.load_text(content) == text


async def test_bytes_that_are_not_utf8_are_rejected_as_text(blobs: ContentAddressedBlobs) -> None:
    with pytest.raises(RejectedError, match="UTF-8"):
        await blobs.load_text(Content(blob=await blobs.put(b"\xff", "text/plain")))


async def test_content_without_text_and_blob_is_rejected(blobs: ContentAddressedBlobs) -> None:
    with pytest.raises(RejectedError, match="neither"):
        await blobs.load_text(Content())


async def test_unfinished_files_of_dead_writers_are_deleted(in_folder: FolderBlobs, tmp_path: Path) -> None:
    ref = await in_folder.put(b"kept", "text/plain")
    old, young = (files(tmp_path)[0].with_name(name) for name in ("old.part", "young.part"))
    old.write_bytes(b"")
    young.write_bytes(b"")
    os.utime(old, (0, 0))
    assert await in_folder.delete_stray_files() == 1
    assert young.exists()
    assert await in_folder.get(ref) == b"kept"


async def test_a_copy_of_a_sealed_blob_is_unreadable_once_the_blob_is_deleted(
    sealed: ContentAddressedBlobs, keys: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    data = b"The plan of zyxofileq." * 30_000
    ref = await sealed.put(data, "text/plain")
    copy = await read_stored(sealed, ref)
    assert b"zyxofileq" not in copy
    assert await sealed.count_keys([ref.sha256]) == 1
    await damage(sealed, ref, b"nothing")
    await damage(sealed, ref, copy)
    assert await sealed.get(ref) == data
    assert (await sealed.delete([ref.sha256])).keys == 1
    await damage(sealed, ref, copy)
    assert await sealed.count_keys([ref.sha256]) == 0
    with pytest.raises(RejectedError, match="erased"):
        await sealed.get(ref)
    await sealed.put(data, "text/plain")
    assert await sealed.get(ref) == data
    assert keys.find_keys([key_name(copy) or ""]) == {key_name(copy): None}


async def test_the_same_bytes_keep_their_key_so_that_no_copy_has_another(sealed: ContentAddressedBlobs) -> None:
    refs = await asyncio.gather(*(sealed.put(b"same", "text/plain") for _ in range(8)))
    first = await read_stored(sealed, refs[0])
    await damage(sealed, refs[0], first[:-1] + b"?")
    await sealed.put(b"same", "text/plain")
    assert await read_stored(sealed, refs[0]) == first


async def test_blobs_from_before_and_after_sealing_are_read(tmp_path: Path, keys: Sealer) -> None:
    folder = tmp_path / "blobs"
    plain, not_now = FolderBlobs(folder), FolderBlobs(folder, Sealer(keys._keys, seals=False))
    before = await plain.put(b"before", "text/plain")
    during = await FolderBlobs(folder, keys).put(b"during", "text/plain")
    after = await not_now.put(b"after", "text/plain")
    looks_sealed = await not_now.put(await read_stored(plain, during), "text/plain")
    assert [await not_now.get(ref) for ref in (before, during, after)] == [b"before", b"during", b"after"]
    assert await read_stored(plain, after) == b"after"
    assert await not_now.get(looks_sealed) == await read_stored(plain, during)
    assert (await FolderBlobs(folder, keys).put(b"before", "text/plain")) == before
    assert b"before" not in await read_stored(plain, before)


async def test_a_sealed_blob_is_rejected_without_its_key_and_where_a_part_is_missing(
    sealed: ContentAddressedBlobs, tmp_path: Path
) -> None:
    ref = await sealed.put(os.urandom(3 * PART_BYTES), "text/plain")
    stored = await read_stored(sealed, ref)
    await damage(sealed, ref, stored[: -PART_BYTES - 16])
    with pytest.raises(RejectedError, match="changed"):
        await sealed.get(ref)
    elsewhere = FolderBlobs(tmp_path / "elsewhere", _sealer(tmp_path / "other"))
    await elsewhere.put(b"", "text/plain")
    path = tmp_path / "elsewhere" / blob_path(ref.sha256)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(stored)
    with pytest.raises(RejectedError, match="backup"):
        await elsewhere.get(ref)


async def test_a_deletion_that_was_killed_half_way_is_completed_with_its_key(
    tmp_path: Path, keys: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    blobs = FolderBlobs(tmp_path / "blobs", keys)
    hidden: list[Path] = []
    for data in (b"first", b"second"):
        ref = await blobs.put(data, "text/plain")
        path = tmp_path / "blobs" / blob_path(ref.sha256)
        hidden.append(path.rename(path.with_name(f"{path.name}.part")))
    first, second = (key_name(path.read_bytes()) or "" for path in hidden)
    assert (await blobs.delete([sha256(b"first").hexdigest()])).keys == 1
    os.utime(hidden[1], (0, 0))
    assert await blobs.delete_stray_files() == 1
    assert keys.find_keys([first, second]) == {first: None, second: None}
    assert not [path for path in hidden if path.exists()]


async def test_an_object_store_that_does_not_answer_is_an_outage() -> None:
    nowhere = {"endpoint": "http://127.0.0.1:9", "region": "a", "allow_http": "true"}
    options = {**nowhere, "access_key_id": "key", "secret_access_key": "secret"}
    blobs = ObjectStoreBlobs(open_object_store("s3://bucket", options, timeout=SHORT_TIMEOUT), "s3://bucket")
    with pytest.raises(OutageError, match="could not be written to s3://bucket"):
        await blobs.put(b"data", "text/plain")
    with pytest.raises(OutageError, match="could not be read from s3://bucket"):
        await blobs.get(BlobRef(sha256="0" * 64, size=1))


async def test_a_deleted_blob_is_gone_and_one_that_was_just_stored_stays(
    blobs: ContentAddressedBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = await blobs.put(b"a plan", "text/plain")
    assert not (await blobs.delete([ref.sha256])).digests
    assert await blobs.get(ref) == b"a plan"
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    assert set((await blobs.delete([ref.sha256, "0" * 64])).digests) == {ref.sha256, "0" * 64}
    with pytest.raises(RejectedError):
        await blobs.get(ref)


async def test_a_blob_that_is_stored_while_it_is_deleted_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    store = MemoryStore()
    blobs = ObjectStoreBlobs(store, "memory://")
    ref = await blobs.put(b"a plan", "text/plain")
    is_deleting, may_delete = asyncio.Event(), asyncio.Event()
    delete_objects = obstore.delete_async

    async def delete_late(*args: Any) -> None:
        is_deleting.set()
        await may_delete.wait()
        await delete_objects(*args)

    monkeypatch.setattr(obstore, "delete_async", delete_late)
    deletion = asyncio.create_task(blobs.delete([ref.sha256]))
    await is_deleting.wait()
    again = asyncio.create_task(blobs.put(b"a plan", "text/plain"))
    await asyncio.sleep(0)
    may_delete.set()
    assert (await deletion).digests == {ref.sha256}
    assert await blobs.get(await again) == b"a plan"


async def test_a_blob_whose_storing_takes_long_is_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    blobs = ObjectStoreBlobs(MemoryStore(), "memory://")
    is_written, may_answer = asyncio.Event(), asyncio.Event()
    put_object = obstore.put_async

    async def answer_late(*args: Any) -> None:
        await put_object(*args)
        is_written.set()
        await may_answer.wait()

    monkeypatch.setattr(obstore, "put_async", answer_late)
    put = asyncio.create_task(blobs.put(b"a plan", "text/plain"))
    await is_written.wait()
    assert not (await blobs.delete([sha256(b"a plan").hexdigest()])).digests
    may_answer.set()
    assert await blobs.get(await put) == b"a plan"


async def test_a_disk_that_takes_no_file_is_an_outage_until_it_does(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "disk" / "blobs")
    (tmp_path / "disk").write_text("no folder can be made here")
    with pytest.raises(OutageError, match="blobs can't be written: Not a directory"):
        await blobs.put(b"a text", "text/plain")
    (tmp_path / "disk").unlink()
    assert await blobs.get(await blobs.put(b"a text", "text/plain")) == b"a text"
