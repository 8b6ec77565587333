"""Values of the log are stored compressed where that saves space, and read as they were written."""

import sqlite3
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.records import ProducerRecord
from pipeline.bus.sqlite.log_database import LogDatabase
from pipeline.bus.sqlite.log_reader import LogReader
from pipeline.bus.sqlite.value_compression import compress_value, decompress_value

TEXT = b'{"content": "%s"}' % (b"Ada lives in Berlin and plays the cello. " * 40)


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=3000), st.text(max_size=30).map(lambda text: text.encode() * 100)))
def test_every_value_is_read_as_it_was_written(value: bytes) -> None:
    stored, compressed = compress_value(value)
    assert decompress_value(stored, compressed) == value
    assert len(stored) <= len(value)


def test_a_value_that_looks_compressed_is_kept_as_it_is(tmp_path: Path) -> None:
    stored, _ = compress_value(TEXT)
    assert _read_back(tmp_path, stored) == stored


def test_text_takes_less_space_in_the_log(tmp_path: Path) -> None:
    assert _read_back(tmp_path, TEXT) == TEXT
    assert _execute(tmp_path, "SELECT length(value) < ? FROM records", len(TEXT) // 2) == [(True,)]


def test_compressed_values_are_searched_for_bytes(tmp_path: Path) -> None:
    _append(tmp_path, TEXT)
    reader = LogReader(tmp_path / "log.db")
    found = [reader.read_keys("a.v1", 0, 0, 10, wanted) for wanted in (b"the cello", b"the viola", None)]
    reader.close()
    assert found == [[(0, b"k", True)], [(0, b"k", False)], [(0, b"k", True)]]


def test_a_damaged_value_is_handed_on_so_that_only_its_record_becomes_a_dead_letter(tmp_path: Path) -> None:
    _append(tmp_path, TEXT)
    _append(tmp_path, TEXT)
    _execute(tmp_path, "UPDATE records SET value = substr(value, 1, 40) WHERE offset = 0")
    reader = LogReader(tmp_path / "log.db")
    damaged, intact = reader.read("a.v1", 0, 0, 10)
    reader.close()
    assert damaged.value != TEXT
    assert intact.value == TEXT


def _append(folder: Path, value: bytes) -> None:
    database = LogDatabase(folder / "log.db", 1)
    database.commit([lambda log: log.append("a.v1", 0, [ProducerRecord(b"k", value, {})])], {})
    database.close()


def _read_back(folder: Path, value: bytes) -> bytes:
    _append(folder, value)
    reader = LogReader(folder / "log.db")
    (record,) = reader.read("a.v1", 0, 0, 10)
    reader.close()
    return record.value


def _execute(folder: Path, statement: str, *parameters: object) -> list[tuple[object, ...]]:
    db = sqlite3.connect(folder / "log.db", isolation_level=None)
    try:
        return db.execute(statement, parameters).fetchall()
    finally:
        db.close()
