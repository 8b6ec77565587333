"""Keys of sealed records: found by all, refused by all once destroyed, whole after a crash at any step."""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.bus.records import SEALED_HEADER, ErasedRecordError, MissingKeyError, ProducerRecord, RawRecord
from pipeline.bus.sealing import key_table
from pipeline.bus.sealing.key_file import SealingKeyError
from pipeline.bus.sealing.key_table import KeyTable, back_up_keys
from pipeline.bus.sealing.sealed_records import BLOCK_RECORDS, key_label
from pipeline.bus.sealing.sealer import Sealer
from pipeline.errors import OutageError
from pipeline.ports import KeyStorage
from pipeline.store.folder_files import open_files
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio
WRAPPING, OTHER = bytes(range(32)), bytes(range(1, 33))
NOW = datetime(2026, 11, 27, tzinfo=UTC)
Open = Callable[..., KeyTable]


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "MAX_AGE_SECONDS", -1.0)


@pytest.fixture(params=["folder", "object store"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyStorage]:
    if request.param == "folder":
        yield open_files(str(tmp_path / "keys"), "keys")
    else:
        s3: S3Server = request.getfixturevalue("s3")
        yield open_files(f"{s3.unused_uri()}/keys", "keys", s3.options)


@pytest.fixture
def table(storage: KeyStorage) -> KeyTable:
    return _open(storage)


def _open(storage: KeyStorage, *wrapping: bytes, days_later: int = 0) -> KeyTable:
    return KeyTable(storage, wrapping or [WRAPPING], lambda: NOW + timedelta(days=days_later))


def _sealed(sealer: Sealer, value: bytes = b"zyxotextq", days: int | None = None) -> RawRecord:
    (entry,) = sealer.seal([ProducerRecord(b"home#0/diary", value, {})], [False], days)
    return RawRecord("t", 0, 0, entry.key, entry.value, entry.headers, NOW)


async def _content(sealer: Sealer, record: RawRecord) -> bytes:
    (opened,) = await sealer.with_openers([record])
    return opened.content


async def _destroy(sealer: Sealer, *records: RawRecord) -> int:
    return await sealer.destroy({label for record in records if (label := key_label(record.headers))})


async def test_each_process_opens_what_any_sealed_until_its_key_is_destroyed(storage: KeyStorage) -> None:
    here, there, eraser = (Sealer(_open(storage), seals=True) for _ in range(3))
    gone, kept, theirs = _sealed(here), _sealed(here), _sealed(there)
    for sealer in (here, there, eraser):
        assert [await _content(sealer, record) for record in (gone, kept, theirs)] == [b"zyxotextq"] * 3
    assert await _destroy(eraser, gone) == 1
    assert await _destroy(eraser, gone) == 0
    for sealer in (here, there, eraser):
        with pytest.raises(ErasedRecordError):
            await _content(sealer, gone)
        assert [await _content(sealer, record) for record in (kept, theirs)] == [b"zyxotextq"] * 2
    # The block whose seed could make the destroyed key is not sealed with any more.
    assert _sealed(here).headers[SEALED_HEADER].partition("/")[0] != gone.headers[SEALED_HEADER].partition("/")[0]


async def test_records_without_sealed_ones_need_no_keys(table: KeyTable) -> None:
    record = RawRecord("t", 0, 0, b"key", b"plain", {}, NOW)
    assert await Sealer(table, seals=True).with_openers([record]) == [record]


@pytest.mark.parametrize("name", ["..", "0" * 16, "0" * 16 + "-99991231"])
async def test_a_block_that_never_was_is_missing_and_not_erased(table: KeyTable, name: str) -> None:
    sealer = Sealer(table, seals=True)
    record = RawRecord("t", 0, 0, b"key", b"value", {SEALED_HEADER: f"{name}/1"}, NOW)
    with pytest.raises(MissingKeyError):
        await _content(sealer, record)
    with pytest.raises(MissingKeyError):
        await _destroy(sealer, record)
    with pytest.raises(MissingKeyError):
        await sealer.count({(name, 1)})


async def test_an_erasure_that_fails_at_any_step_is_completed_by_the_next(
    storage: KeyStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(4):
        sealer, reader = Sealer(_open(storage), seals=True), Sealer(_open(storage), seals=True)
        gone, kept = _sealed(sealer), _sealed(sealer)
        assert await _content(reader, gone)
        changes, update = iter(range(step)), storage.update

        def fail(name: str, change: object, changes: Iterator[int] = changes, update: Callable = update) -> None:  # type: ignore[type-arg]  # as it is
            if next(changes, None) is None:
                raise OutageError("No space left on device")
            update(name, change)

        with monkeypatch.context() as broken:
            broken.setattr(storage, "update", fail)
            with pytest.raises(OutageError):
                await _destroy(sealer, gone)
        if step == 0:
            assert await _destroy(sealer, gone) == 1
        else:
            assert await Sealer(_open(storage), seals=True).destroy(()) == (1 if step < 3 else 0) or step == 1
            await _destroy(sealer, gone)
        with pytest.raises(ErasedRecordError):
            await _content(reader, gone)
        assert await _content(reader, kept)
        assert storage.read("pending") is None


async def test_blocks_restored_from_a_backup_bring_no_destroyed_key_back(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    sealer = Sealer(_open(open_files(str(folder), "keys")), seals=True)
    gone, kept = _sealed(sealer), _sealed(sealer)
    shutil.copytree(folder / "blocks", tmp_path / "backup")
    await _destroy(sealer, gone)
    shutil.rmtree(folder / "blocks")
    shutil.copytree(tmp_path / "backup", folder / "blocks")
    restored = Sealer(_open(open_files(str(folder), "keys")), seals=True)
    assert await _content(restored, kept)
    with pytest.raises(ErasedRecordError):
        await _content(restored, gone)


async def test_a_process_with_another_wrapping_key_does_not_start(storage: KeyStorage) -> None:
    record = _sealed(Sealer(_open(storage), seals=True))
    with pytest.raises(SealingKeyError, match="give every process the same"):
        _open(storage, OTHER)
    rotated = _open(storage, OTHER, WRAPPING)
    assert await _content(Sealer(rotated, seals=True), record)
    assert await _content(Sealer(_open(storage, OTHER), seals=True), record)
    with pytest.raises(SealingKeyError):
        _open(storage, WRAPPING)


async def test_a_process_that_runs_while_the_wrapping_key_is_replaced_leaves_no_block_under_the_old_one(
    storage: KeyStorage,
) -> None:
    with_both, with_old = (Sealer(_open(storage, WRAPPING, *more), seals=True) for more in ((OTHER,), ()))
    before = _sealed(with_both)
    gone = _sealed(with_old)
    _open(storage, OTHER, WRAPPING)
    with_both._blocks.clear()
    after = _sealed(with_both)
    assert await _destroy(with_both, gone) == 1
    _sealed(with_old)  # its block was wrapped anew with the others
    with_old._blocks.clear()
    blocks = set(storage.names("blocks"))
    with pytest.raises(OutageError, match="restart it"):
        _sealed(with_old)
    assert set(storage.names("blocks")) == blocks
    later = Sealer(_open(storage, OTHER), seals=True)
    assert await _content(later, before) == await _content(later, after) == b"zyxotextq"
    with pytest.raises(ErasedRecordError):
        await _content(later, gone)


async def test_a_backup_brings_back_lost_blocks_and_no_destroyed_key(storage: KeyStorage, tmp_path: Path) -> None:
    table, backup = _open(storage), tmp_path / "backup.db"
    sealer = Sealer(table, seals=True)
    gone, kept, dropped = _sealed(sealer), _sealed(sealer), _sealed(sealer, days=1)
    assert back_up_keys(storage, backup) == 2
    await _destroy(sealer, gone)
    for block in storage.names("blocks"):
        storage.delete(f"blocks/{block}")
    assert _open(storage, days_later=9).restore(backup) == 1
    assert _open(storage).restore(backup) == 1
    assert _open(storage).restore(backup) == 0
    restored = Sealer(_open(storage), seals=True)
    assert await _content(restored, kept) == await _content(restored, dropped) == b"zyxotextq"
    with pytest.raises(ErasedRecordError):
        await _content(restored, gone)
    _open(storage, OTHER, WRAPPING)
    with pytest.raises(SealingKeyError, match="sealing key file"):
        _open(storage, OTHER).restore(backup)
    (tmp_path / "other.db").write_bytes(b"no backup")
    with pytest.raises(SealingKeyError, match="is not a backup"):
        _open(storage, OTHER).restore(tmp_path / "other.db")


async def test_keys_of_what_the_log_drops_end_by_themselves_but_those_of_dead_letters(storage: KeyStorage) -> None:
    sealer = Sealer(_open(storage), seals=True)
    dropped, lasting = _sealed(sealer, days=15), _sealed(sealer)
    (letter,) = sealer.seal_lastingly([ProducerRecord(dropped.key, dropped.value, dropped.headers)])
    kept = RawRecord("t.dlq", 0, 0, letter.key, letter.value, letter.headers, NOW)
    later = Sealer(_open(storage, days_later=15), seals=True)
    assert await _content(later, dropped)
    assert await later.remove_expired() == 0
    later = Sealer(_open(storage, days_later=16), seals=True)
    for _ in range(2):
        with pytest.raises(ErasedRecordError):
            await _content(later, dropped)
        assert await _content(later, lasting) == await _content(later, kept) == b"zyxotextq"
        await later.remove_expired()
    assert len(list(storage.names("blocks"))) == 1


async def test_a_table_that_is_away_lets_records_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_files(str(tmp_path / "keys"), "keys")
    record = _sealed(Sealer(_open(storage), seals=True))

    def fail(_: str) -> bytes:
        raise OutageError("away")

    reader = Sealer(_open(storage), seals=True)
    monkeypatch.setattr(storage, "read", fail)
    with pytest.raises(OutageError):
        await reader.with_openers([record])


def test_key_files_are_for_their_owner_only(tmp_path: Path) -> None:
    Sealer(_open(open_files(str(tmp_path / "keys"), "keys")), seals=True).seal(
        [ProducerRecord(b"k", b"v", {})], [False]
    )
    files = [path for path in (tmp_path / "keys").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if path.stat().st_mode & 0o077]


async def test_small_values_are_sealed_at_once_while_a_block_lasts(tmp_path: Path) -> None:
    sealer = Sealer(_open(open_files(str(tmp_path / "keys"), "keys")), seals=True)
    small, large = [ProducerRecord(b"k", b"v", {})], [ProducerRecord(b"k", b"v" * 100_000, {})]
    assert sealer.seal_at_once(small, [False]) is None
    sealer.seal(small, [False])
    assert sealer.seal_at_once(large, [False]) is None
    sealed = [sealer.seal_at_once(small, [False]) for _ in range(BLOCK_RECORDS)]
    assert sealed.index(None) == BLOCK_RECORDS - 1
    assert len({part[0].headers[SEALED_HEADER] for part in sealed if part}) == BLOCK_RECORDS - 1
    assert sealer.seal_at_once(small, [False], days=15) is None
