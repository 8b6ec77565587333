"""Commit subjects are short, imperative and readable by a stranger."""

from pathlib import Path

import pytest

from tools import commit_message


@pytest.mark.parametrize(
    "message",
    [
        "Add a write-ahead log\n",
        "Add a write-ahead log\n\nWhy it is needed.\n# comment of git\n",
        "fixup! Add a write-ahead log",
    ],
)
def test_a_clear_message_has_no_problems(message: str) -> None:
    assert commit_message.problems(message) == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", "empty"),
        ("# only a comment of git\n", "empty"),
        ("A" * 73, "73 characters"),
        ("Add a log.", "full stop"),
        ("add a log", "capital letter"),
        ("Add a log\nand more", "second line"),
    ],
)
def test_an_unclear_message_is_explained(message: str, problem: str) -> None:
    assert [found for found in commit_message.problems(message) if problem in found]


def test_the_command_refuses_a_message_with_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    monkeypatch.setattr("sys.argv", ["commit_message", str(message)])
    message.write_text("add")
    assert commit_message.main() == 1
    assert "capital letter" in capsys.readouterr().err
    message.write_text("Add a log")
    assert commit_message.main() == 0
