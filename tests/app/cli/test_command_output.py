"""Texts that commands print: sources of results, plurals, and control characters, which steer no terminal."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.markup import escape
from rich.table import Table

from app.cli.commands.core_commands import result_source
from app.cli.conventions import Terminal, emit, error_exit, pluralize


def result(chunk: str, **document: str) -> dict[str, object]:
    return {"chunk": chunk, "included": {"document": document}}


def test_the_source_is_the_title_unless_the_text_begins_with_it() -> None:
    assert result_source(result("She plays the cello.", id="note", title="Alice")) == "Alice"
    assert result_source(result("Alice plays the cello.", id="note", title="Alice plays…")) == "note"
    assert result_source(result("She plays the cello.", id="note")) == "note"
    assert result_source({"memory": "She plays the cello."}) == ""


@given(st.integers(0, 1000))
def test_only_one_item_is_singular(number: int) -> None:
    assert pluralize(number, "result").endswith("s") == (number != 1)


HOSTILE = "Ada\x1b]52;c;cm0gLXJm\x07 \x9b2J\x7f\r"
"""A text that would fill the clipboard, empty the screen and overwrite its line."""


def test_a_stored_text_is_shown_and_never_obeyed_by_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("text")
    table.add_row(escape(HOSTILE))
    emit([HOSTILE], HOSTILE, table, as_json=False)
    error_exit(HOSTILE)
    shown = io.StringIO()
    Terminal(file=shown, force_terminal=True, color_system=None, width=200).print(f"[bold]{escape(HOSTILE)}[/]")
    captured = capsys.readouterr()
    for printed in (captured.out, captured.err, shown.getvalue()):
        assert "Ada␛]52;c;cm0gLXJm␇" in printed
        assert not set("\x07\x9b\x7f\r") & set(printed)
    assert "\x1b" not in captured.out + captured.err


def test_json_for_programs_keeps_every_character_and_holds_no_control(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"text": f"é {HOSTILE}"}, as_json=True)
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"text": f"é {HOSTILE}"}
    assert "é" in printed
    assert not set("\x1b\x07\x9b\x7f\r") & set(printed)
