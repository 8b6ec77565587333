"""Row cache of the memtable: which rows it keeps, and which it evicts."""

from pipeline.store.lancedb.memtable import MemTable


def _overlay(recent_bytes: int = 10_000) -> MemTable[str]:
    return MemTable(1, len, recent_bytes)


def test_read_rows_are_cached_until_they_change() -> None:
    overlay = _overlay()
    overlay.cache_read("a", ("read",))
    assert overlay.get("a") == ("read",)
    overlay.put("a", ("changed",), "alice#0", 0)
    assert overlay.get("a") == ("changed",)


def test_read_rows_never_replace_newer_ones() -> None:
    overlay = _overlay()
    overlay.put("a", ("new",), "alice#0", 0)
    overlay.cache_read("a", ("old",))
    assert overlay.get("a") == ("new",)
    overlay.drop_flushed(overlay.drain(0))
    overlay.cache_read("a", ("old",))
    assert overlay.get("a") == ("new",)


def test_the_row_cache_is_bounded() -> None:
    overlay = _overlay(recent_bytes=1000)
    for name in "abcdef":
        overlay.cache_read(name, ("row",))
    held = [name for name in "abcdef" if overlay.get(name) is not None]
    assert held == ["d", "e", "f"]


def test_absent_keys_are_not_cached() -> None:
    overlay = _overlay()
    overlay.cache_read("a", ())
    assert overlay.get("a") is None
