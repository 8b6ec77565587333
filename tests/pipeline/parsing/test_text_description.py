"""Shape, title and summary of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parsing.document_titles import document_title, strip_markdown
from pipeline.parsing.extractive_summary import MAX_SUMMARY_CHARACTERS, summarize
from pipeline.parsing.text_types import detect_text_kind

SHAPES = [
    ("We move to Oslo in May, she said.", "text"),
    ("Dear all,\n\nplease note: the office is closed, sorry.\n\nBest, Ann", "text"),
    ("Name: Bob\nAge: 41\nCity: Oslo", "text"),
    ("# Plan\n\nWe move.", "markdown"),
    ("Some [link](http://a.b) and **bold** text", "markdown"),
    ("- milk\n- eggs\n\nsee `list`", "markdown"),
    ("<!DOCTYPE html><html><body>hi</body></html>", "webpage"),
    ("<p>Hello <b>you</b></p>", "webpage"),
    ("<p align='center'>Logo</p>\n\n```\n'<!doctype html><html>'\n```\n\n## Features\n", "markdown"),
    ("<p is a mathematical relation", "text"),
    ('{"a": 1}', "json"),
    ('{"a": 1}\n{"a": 2}', "json"),
    ("[not json", "text"),
    ('[{"role": "user", "content": "hi"}]', "chat"),
    ("user: hi there\nassistant: hello\nuser: bye now", "chat"),
    ("Anna: where are you?\nBen: at home\nAnna: ok\nBen: see you", "chat"),
    ("[10:01] Anna: where are you?\n[10:02] Ben: at home\n[10:03] Anna: ok\n[10:04] Ben: bye", "chat"),
    ("name,age,city\nAnn,30,Oslo\nBen,41,Rome\nCid,22,Bonn", "csv"),
    ("First, we go.\nThen, we stay.\nLater, we leave.", "text"),
    ("From: a@b.c\nTo: d@e.f\nSubject: Hi\n\nHello.", "email"),
    ("import os\n\ndef f(x):\n    return os.path.join(x, 'a')\n", "code"),
    ("#!/bin/sh\necho hello\n", "code"),
    ("const a = 1;\nfunction f() {\n  return a;\n}\n", "code"),
    ("", "text"),
]


@pytest.mark.parametrize(("text", "kind"), SHAPES)
def test_a_text_is_recognised_by_its_shape(text: str, kind: str) -> None:
    assert detect_text_kind(text) == kind


@given(st.text(max_size=400))
def test_any_text_has_a_shape_a_title_and_perhaps_a_summary(text: str) -> None:
    kind = detect_text_kind(text)
    title = document_title(text, kind)
    assert title is None or (0 < len(title) <= 80 and "\n" not in title)
    summary = summarize(text)
    assert summary is None or 0 < len(summary) <= MAX_SUMMARY_CHARACTERS


def test_titles_come_from_the_format_then_the_name_then_the_beginning() -> None:
    text = "Before.\n\n## The *second* [plan](x)\n\nText."
    assert document_title(text, "markdown", metadata_title="Own", filename="a.md") == "Own"
    assert document_title(text, "markdown", filename="a.md") == "The second plan"
    assert document_title(text, "pdf", metadata_title="untitled", filename="C:\\docs\\a.pdf") == "a.pdf"
    assert document_title("\n\n- Buy milk\n- and eggs", "text", filename="upload") == "Buy milk"
    assert document_title("word " * 40, "text") == ("word " * 15).strip() + "…"
    assert document_title(" \n--\n", "text") is None


def test_a_summary_is_made_of_the_central_sentences_in_order() -> None:
    sentences = [
        "The tide tables list high water for every harbour on the coast.",
        "My aunt has a green bicycle with three bells on it.",
        "High water at the harbour comes later each day than the tide tables of the day before.",
        "Bring some sandwiches and a thermos of tea as well.",
        "Every harbour on the coast publishes its own tide tables for high water.",
    ]
    summary = summarize(" ".join(sentences) + "\n\n" + "Nothing else of any note was found in there.")
    assert summary is not None
    assert sentences[0] in summary
    assert sentences[4] in summary
    assert "bicycle" not in summary
    assert summary.index(sentences[0]) < summary.index(sentences[4])


def test_short_texts_have_no_summary() -> None:
    assert summarize("Rain. Wind. Sun.") is None


@pytest.mark.parametrize(
    "unit", ["<!---->", "[", "# ", "#", "*", "**a", "\n", "`", "~~~\n", "a: b\n", "| a |\n", ") ", '."', "- "]
)
def test_no_text_takes_long_to_describe(unit: str) -> None:
    text = unit * (200_000 // len(unit)) + "x"
    document_title(text, detect_text_kind(text))
    document_title("# " + text, "markdown")
    summarize(text)


@given(st.text(st.sampled_from("ab é+-*_`<>[]#|!().\t\n"), max_size=14))
def test_a_line_without_marks_is_as_plain_as_it_was(line: str) -> None:
    assert strip_markdown(line) == strip_markdown(f"{line} **")
