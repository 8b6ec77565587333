"""Sealed records: opened with their key, erased without it, damaged if changed, and never sealed twice alike."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.bus.records import (
    SEALED_HEADER,
    DeserializationError,
    ErasedRecordError,
    MissingKeyError,
    ProducerRecord,
    RawRecord,
)
from pipeline.bus.sealing.destroyed_keys import DestroyedKeys
from pipeline.bus.sealing.key_file import KeyFile, SealingKeyError
from pipeline.bus.sealing.key_table import KeyTable, back_up_table
from pipeline.bus.sealing.sealed_records import BLOCK_RECORDS, key_label
from pipeline.bus.sealing.sealer import Sealer

pytestmark = pytest.mark.anyio
WRAPPING, OTHER = bytes(range(32)), bytes(range(1, 33))
TEXT = b'{"text":"' + b"Ada keeps a zyxotextq in Porto. " * 40 + b'"}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keys.db"


@pytest.fixture
def keys(path: Path) -> Iterator[KeyTable]:
    table = _open(path, [WRAPPING])
    yield table
    table.close()


def _open(path: Path, wrapping: list[bytes]) -> KeyTable:
    path.parent.mkdir(exist_ok=True)
    return KeyTable(path, wrapping, DestroyedKeys(path.parent.parent / "destroyed.db"))


def _sealed(sealer: Sealer, value: bytes = TEXT, key: bytes = b"home#0/diary") -> RawRecord:
    (entry,) = sealer.seal([ProducerRecord(key, value, {})], [False])
    return RawRecord("t", 0, 0, entry.key, entry.value, entry.headers, datetime.now(UTC), sealer.open)


def _copy(record: RawRecord, **changes: object) -> RawRecord:
    fields = {name: getattr(record, name) for name in RawRecord.__slots__}
    return RawRecord(**{**fields, **changes})


@pytest.mark.parametrize("value", [b"", b"short zyxotextq", TEXT])
def test_a_sealed_value_hides_its_words_and_opens(keys: KeyTable, value: bytes) -> None:
    record = _sealed(Sealer(keys, seals=True), value)
    assert b"zyxotextq" not in record.value
    assert record.content == value


async def test_a_record_without_its_key_is_erased_and_its_neighbours_stay(keys: KeyTable, path: Path) -> None:
    sealer = Sealer(keys, seals=True)
    gone, kept = _sealed(sealer), _sealed(sealer)
    label = key_label(gone.headers)
    assert label is not None
    assert await sealer.destroy({label}) == 1
    assert await sealer.destroy({label}) == 0
    with pytest.raises(ErasedRecordError):
        _ = gone.content
    assert gone.content_if_readable == b""
    assert kept.content == TEXT
    again = _open(path, [WRAPPING])
    assert again.find({label}) == {label: None}
    again.close()


async def test_a_key_is_never_used_again_after_an_erasure(keys: KeyTable) -> None:
    sealer = Sealer(keys, seals=True)
    gone = _sealed(sealer)
    await sealer.destroy({label for label in [key_label(gone.headers)] if label})
    after = [_sealed(sealer) for _ in range(3)]
    assert len({record.headers[SEALED_HEADER] for record in [gone, *after]}) == 4
    assert [record.content for record in after] == [TEXT] * 3


def test_blocks_follow_each_other(keys: KeyTable) -> None:
    sealer = Sealer(keys, seals=True)
    records = [_sealed(sealer, b"x") for _ in range(BLOCK_RECORDS + 1)]
    assert len({record.headers[SEALED_HEADER] for record in records}) == BLOCK_RECORDS + 1
    assert len({record.headers[SEALED_HEADER].partition("/")[0] for record in records}) == 2
    assert records[-1].content == b"x"


def test_damage_another_key_and_a_lost_table_are_told_apart(keys: KeyTable) -> None:
    record = _sealed(Sealer(keys, seals=True))
    for damaged in (
        _copy(record, value=record.value[:-1] + b"!"),
        _copy(record, key=b"home#0/other"),
        _copy(record, headers={SEALED_HEADER: "nonsense"}),
    ):
        with pytest.raises(DeserializationError) as raised:
            _ = damaged.content
        assert not isinstance(raised.value, ErasedRecordError | MissingKeyError)
        assert damaged.content_if_readable == damaged.value
    for keyless in (_copy(record, headers={SEALED_HEADER: "00/1"}), _copy(record, opener=None)):
        with pytest.raises(MissingKeyError):
            _ = keyless.content_if_readable


async def test_a_restored_backup_brings_back_lost_keys_but_no_erased_ones(keys: KeyTable, path: Path) -> None:
    sealer = Sealer(keys, seals=True)
    gone, kept = _sealed(sealer), _sealed(sealer)
    backup = path.with_name("backup.db")
    shutil.copy(path, backup)
    await sealer.destroy({label for label in [key_label(gone.headers)] if label})
    assert keys.restore(backup) == 0
    with pytest.raises(ErasedRecordError):
        _ = gone.content
    copied = path.with_name("copied.db")
    shutil.copy(backup, copied)
    for table, added in ((_open(path.with_name("new.db"), [WRAPPING]), 1), (_open(copied, [WRAPPING]), 0)):
        assert table.restore(backup) == added
        opener = Sealer(table, seals=True).open
        assert _copy(kept, opener=opener).content == TEXT
        with pytest.raises(ErasedRecordError):
            _ = _copy(gone, opener=opener).content
        table.close()


def test_what_is_no_backup_or_is_wrapped_by_another_key_adds_nothing(keys: KeyTable, path: Path) -> None:
    record = _sealed(Sealer(keys, seals=True))
    other = _open(path.with_name("other.db"), [OTHER])
    backup = path.with_name("backup.db")
    assert back_up_table(path, backup) == 1
    path.with_name("words.txt").write_text("no backup at all")
    for file in (backup, path.with_name("words.txt"), path.with_name("missing.db")):
        with pytest.raises(SealingKeyError):
            other.restore(file)
    with pytest.raises(MissingKeyError):
        _ = _copy(record, opener=Sealer(other, seals=True).open).content
    other.close()
    _open(path.with_name("other.db"), [OTHER]).close()


def test_the_wrapping_key_is_rotated_by_a_line_above_it(keys: KeyTable, path: Path) -> None:
    record = _sealed(Sealer(keys, seals=True))
    _open(path, [OTHER, WRAPPING]).close()
    rotated = _open(path, [OTHER])
    assert _copy(record, opener=Sealer(rotated, seals=True).open).content == TEXT
    rotated.close()
    with pytest.raises(SealingKeyError, match="not in the sealing key file"):
        _open(path, [WRAPPING])


def test_a_key_file_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "sealing.key"
    with pytest.raises(SealingKeyError, match="can't be read"):
        KeyFile(path).read()
    made = KeyFile(path).read(create=True)
    assert KeyFile(path).read(create=True) == made
    assert path.stat().st_mode & 0o077 == 0
    path.write_text("short\n")
    with pytest.raises(SealingKeyError):
        KeyFile(path).read(create=True)
