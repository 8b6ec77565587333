"""Sealed records: opened with their key, erased without it, damaged if changed, and never sealed twice alike."""

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
from pipeline.bus.sealing.key_file import KeyFile, SealingKeyError
from pipeline.bus.sealing.key_table import KeyTable
from pipeline.bus.sealing.sealed_records import BLOCK_RECORDS, key_label
from pipeline.bus.sealing.sealer import Sealer
from pipeline.store.folder_files import open_files
from tests.support.fakes import FixedClock

pytestmark = pytest.mark.anyio
TEXT = b'{"text":"' + b"Ada keeps a zyxotextq in Porto. " * 40 + b'"}'


@pytest.fixture
def keys(tmp_path: Path) -> KeyTable:
    return _open(tmp_path)


def _open(tmp_path: Path) -> KeyTable:
    return KeyTable(open_files(str(tmp_path / "keys"), "keys"), [bytes(range(32))], FixedClock().now)


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


async def test_a_record_without_its_key_is_erased_and_its_neighbours_stay(keys: KeyTable, tmp_path: Path) -> None:
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
    assert _open(tmp_path).find({label}) == {label: None}


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
