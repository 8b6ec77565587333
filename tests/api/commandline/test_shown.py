"""What `recollect search` prints of a result."""

from hypothesis import given
from hypothesis import strategies as st

from api.commandline.conventions import counted
from api.commands import source


def result(chunk: str, **document: str) -> dict[str, object]:
    return {"chunk": chunk, "included": {"document": document}}


def test_a_title_is_shown_where_it_says_more_than_the_text() -> None:
    assert source(result("She plays the cello.", id="note", title="Alice")) == "Alice"
    assert source(result("Alice plays the cello.", id="note", title="Alice plays…")) == "note"
    assert source(result("She plays the cello.", id="note")) == "note"
    assert source({"memory": "She plays the cello."}) == ""


@given(st.integers(0, 1000))
def test_one_of_a_kind_is_not_said_in_the_plural(number: int) -> None:
    assert counted(number, "result").endswith("s") == (number != 1)
