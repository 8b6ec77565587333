"""Passages: exact offsets, bounded size, headings, and linear time on any text."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.parsing.text_splitter import SEGMENT_CHARACTERS, TRANSCRIPT_CHUNK_CHARACTERS, StructuredSplitter

KINDS = ("markdown", "text", "code")
pieces = st.sampled_from(
    [
        "# Top\n",
        "## Sub\n",
        "```\n",
        "\n\n",
        "\n",
        "word ",
        "weather. ",
        "👩‍👩‍👧",
        "é",
        "天気。",
        "\r\n",
        "    x = 1\n",
        "| a |\n",
        "\t",
    ]
)
texts = st.lists(pieces | st.text(max_size=20), max_size=200).map("".join)


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts, size=st.sampled_from([20, 100, 800]))
@settings(max_examples=60, deadline=None)
def test_every_passage_is_exactly_its_place_in_the_text(kind: str, text: str, size: int) -> None:
    spans = StructuredSplitter(size).split(text, kind)
    end = 0
    for span in spans:
        assert text[span.start : span.end] == span.text
        assert 0 < len(span.text) <= size
        assert span.start >= end
        end = span.end


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@settings(max_examples=60, deadline=None)
def test_nothing_but_white_incarnation_falls_between_passages(kind: str, text: str) -> None:
    kept = "".join("".join(span.text.split()) for span in StructuredSplitter(100).split(text, kind))
    assert kept == "".join(text.split())


def test_turns_of_a_chat_with_an_assistant_stay_apart_but_for_short_ones() -> None:
    asked = "user: what is a good way to learn the guitar without a teacher?"
    advice = "assistant: Start with open chords, and practice a quarter of an hour every day."
    fact = "user: thanks. By the way, the washing machine leaks whenever it spins."
    text = f"user: hi\nassistant: Hello!\n{asked}\n{advice}\n{fact}\nassistant: Noted!"
    passages = [span.text for span in StructuredSplitter().split(text, "chat")]
    assert passages == ["user: hi\nassistant: Hello!", asked, advice, f"{fact}\nassistant: Noted!"]


@given(st.lists(st.tuples(st.sampled_from(["Ann", "Bob"]), st.integers(1, 60)), min_size=2, max_size=30))
@settings(max_examples=30, deadline=None)
def test_a_transcript_is_cut_between_turns(turns: list[tuple[str, int]]) -> None:
    lines = [f"{name}: {'I say so. ' * length}".strip() for name, length in turns]
    passages = [span.text for span in StructuredSplitter(800).split("\n".join(lines), "text")]
    assert "\n".join(passages) == "\n".join(lines)
    assert all(len(passage) <= TRANSCRIPT_CHUNK_CHARACTERS or "\n" not in passage for passage in passages)
    assert all(len(left) + len(right) >= TRANSCRIPT_CHUNK_CHARACTERS for left, right in pairwise(passages))


def test_a_turn_that_is_too_long_is_cut_like_prose() -> None:
    text = f"Ann: Hello, I am here.\nBob: {'I go on and on. ' * 100}\nAnn: I see."
    spans = StructuredSplitter(400).split(text, "text")
    assert all(text[span.start : span.end] == span.text and len(span.text) <= 400 for span in spans)
    assert (spans[0].text, spans[-1].text) == ("Ann: Hello, I am here.", "Ann: I see.")


@pytest.mark.parametrize(
    ("kind", "title"), [("text", "Minutes of the meeting"), ("markdown", "# Minutes of the meeting")]
)
def test_a_title_is_not_cut_off_from_what_follows_it(kind: str, title: str) -> None:
    text = f"{title}\n\n{'The roof was inspected, and two tiles were missing. ' * 30}\n\n## Next\n\nNothing."
    spans = StructuredSplitter(800).split(text, kind)
    assert spans[0].text.startswith(f"{title}\n\nThe roof was inspected")
    assert all(len(span.text) <= 800 for span in spans)
    assert spans[-1].text.endswith("Nothing.")


def test_passages_stand_under_their_headings() -> None:
    text = f"intro\n\n# Guide\n\n{'a b. ' * 20}\n\n## Install\n\n{'c d. ' * 20}\n\n```\n# no heading\n```\n"
    text += f"\n# *End*\n\n{'e f. ' * 20}"
    spans = StructuredSplitter(120).split(text, "markdown")
    headings = {span.text.split()[-1]: span.heading for span in spans}
    assert headings["intro"] is None
    assert headings["d."] == "Guide > Install"
    assert headings["f."] == "End"
    assert all(span.heading != "no heading" for span in spans)


def test_code_is_cut_before_its_definitions() -> None:
    text = "\n\n".join(f"def f{n}(x):\n    y = x + {n}\n\n    return y\n" for n in range(30))
    spans = StructuredSplitter(200).split(text, "code")
    assert len(spans) > 3
    assert all(span.text.startswith("def f") for span in spans)


def test_code_keeps_the_indentation_of_a_passage() -> None:
    text = "class A:\n" + "\n".join(f"    field_{n} = {n}" for n in range(100))
    spans = StructuredSplitter(200).split(text, "code")
    assert spans[1].text.startswith("    field_")


@pytest.mark.parametrize("kind", ["markdown", "text"])
def test_a_long_text_without_structure_is_cut_in_segments(kind: str) -> None:
    for unit in ("a", "word ", "[", "👩‍👩‍👧"):
        text = unit * (40 * SEGMENT_CHARACTERS // len(unit))
        spans = StructuredSplitter().split(text, kind)
        assert all(text[span.start : span.end] == span.text for span in spans)
