"""Watermarks of lists of issues and comments."""

from connectors.providers.github.issues import Watermark


def test_a_watermark_moves_to_the_newest_time_and_its_entries() -> None:
    before = Watermark("2026-03-01T10:00:00Z", (1,))
    after = before.advanced_by([(2, "2026-03-01T10:00:00Z"), (3, "2026-03-01T11:00:00Z")])
    assert after == Watermark("2026-03-01T11:00:00Z", (3,))


def test_what_is_not_a_time_does_not_move_a_watermark_past_later_changes() -> None:
    before = Watermark("2026-03-01T10:00:00Z", (1,))
    assert before.advanced_by([(2, "unexpected"), (3, "")]) == before
