"""What the overlay holds of groups, and what it lets go of."""

from pipeline.store.overlay import Overlay


def _overlay(recent_bytes: int = 10_000) -> Overlay[str]:
    return Overlay(1, len, recent_bytes)


def test_what_was_read_is_held_until_it_changes() -> None:
    overlay = _overlay()
    overlay.remember("a", ("read",))
    assert overlay.rows("a") == ("read",)
    overlay.put("a", ("changed",), 0)
    assert overlay.rows("a") == ("changed",)


def test_what_was_read_never_stands_over_what_is_newer() -> None:
    overlay = _overlay()
    overlay.put("a", ("new",), 0)
    overlay.remember("a", ("old",))
    assert overlay.rows("a") == ("new",)
    overlay.settle(overlay.take(0))
    overlay.remember("a", ("old",))
    assert overlay.rows("a") == ("new",)


def test_what_was_read_is_held_within_bounds() -> None:
    overlay = _overlay(recent_bytes=1000)
    for name in "abcdef":
        overlay.remember(name, ("row",))
    held = [name for name in "abcdef" if overlay.rows(name) is not None]
    assert held == ["d", "e", "f"]


def test_that_a_group_has_no_rows_is_not_held() -> None:
    overlay = _overlay()
    overlay.remember("a", ())
    assert overlay.rows("a") is None
