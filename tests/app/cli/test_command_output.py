"""Texts that commands print: sources of results and plurals."""

from hypothesis import given
from hypothesis import strategies as st

from app.cli.commands.core_commands import result_source
from app.cli.conventions import pluralize


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
