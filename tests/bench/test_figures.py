"""Figures as a reader sees them."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bench.__main__ import PAGE, README
from bench.result_tables import (
    BEGIN,
    END,
    RESULT_ROWS,
    milliseconds,
    percentile,
    readme_table,
    replace_section,
    table,
)


def test_a_target_that_is_met_or_missed_says_so_in_both_directions() -> None:
    shown = table({"add_alone_p50": 30.0, "adds_32": 600.0, "search_p50": 12.0}, {"search_p50": 90.5}, "A note.")
    lines = {line.split("|")[1].strip(): line for line in shown.splitlines() if line.startswith("| ")}
    assert "| ≤ 15, missed |" in lines["add acknowledged, one client, p50"]
    assert "| ≥ 300, met |" in lines["adds acknowledged, 32 clients"]
    assert lines["search, p50"].endswith("| ≤ 12, met | 90.5 ms |")
    assert shown.startswith("A note.")


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n")
    for content in ("new", "newer"):
        replace_section(page, content)
    assert page.read_text() == "before\n<!-- bench -->\n\nnewer\n\n<!-- /bench -->\nafter\n"


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1), st.floats(min_value=0, max_value=1))
def test_a_percentile_is_one_of_the_values_and_grows_with_its_share(values: list[float], share: float) -> None:
    assert percentile(values, share) in values
    assert percentile(values, share) <= percentile(values, 1.0) == max(values)


def test_seconds_become_milliseconds() -> None:
    assert milliseconds([0.001, 0.002, 0.9]) == 2.0
    assert milliseconds([0.001, 0.002, 0.9], 0.99) == 900.0


def test_the_readme_shows_the_figures_of_the_page() -> None:
    page = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    found = dict(re.findall(r"^\| ([^|]+) \| \*\*([\d.,]+) ", page, re.MULTILINE))
    values = {line.key: float(found[line.what].replace(",", "")) for line in RESULT_ROWS if line.what in found}
    rows = README.read_text().partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    for row, shown in zip(readme_table(values, {}).splitlines(), rows, strict=True):
        assert shown.split("|")[:3] == row.split("|")[:3]


def test_what_was_not_measured_beside_is_left_empty() -> None:
    shown = readme_table(dict.fromkeys((line.key for line in RESULT_ROWS), 5.0), {"rss": 512.0})
    assert "| resident memory | 5.00 MB | 512 MB |" in shown
    assert "| search, p50 / p99, with the embedding of the question | 5.00 / 5.00 ms |  |" in shown
