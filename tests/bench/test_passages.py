"""Share of a question's places among the first results."""

from bench.doubles.sample_rows import chunk_row
from bench.passages import positions_within_budget, share_of


def test_a_place_counts_as_far_as_it_is_there_and_once() -> None:
    places = [("d", 10, 20), ("d", 30, 40)]
    assert share_of(places, [("d", 5, 15), ("d", 12, 17), ("e", 30, 40)], entire=False) == 7 / 20
    assert share_of(places, [("d", 0, 17), ("d", 17, 25)], entire=True) == 1 / 2


def test_what_comes_first_ends_where_the_characters_do() -> None:
    rows = [chunk_row("d", 0, "x" * 10), chunk_row("e", 0, "x" * 10, start=5), chunk_row("f", 0, "x" * 10)]
    assert positions_within_budget(rows, 15) == [("d", 0, 10), ("e", 5, 9)]
    assert positions_within_budget(rows, 11) == [("d", 0, 10)]
