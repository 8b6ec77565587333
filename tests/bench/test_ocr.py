"""Scans for the benchmark of text recognition: the errors that it counts, and the pages that it makes."""

from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="needs the ocr extra, which is not installed")

from bench.ocr import error_rate, make_scans, plain_text


def test_errors_are_edits_by_expected_characters() -> None:
    assert error_rate("abcd", "abcd") == 0
    assert error_rate("abcd", "") == 1
    assert error_rate("abcd", "bxd") == 0.5
    assert error_rate("a  b\nc", "a b c") == 0


def test_the_marks_of_markdown_are_not_printed() -> None:
    assert plain_text("---\nlang: en\n---\n## A [link](https://example.org) and *weight*\n") == "A link and weight"


def test_pages_are_the_same_on_every_run(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("The ferry leaves the harbour at noon. " * 200)
    first, again = make_scans(tmp_path, 1), make_scans(tmp_path, 1)
    assert first == again
    assert first[0].jpeg.startswith(b"\xff\xd8")
