"""JSON of requests is parsed strictly and within bounds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.limits import MAX_JSON_VALUES
from schemas.strict_json import parse_json

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON_VALUES, st.booleans())
def test_json_without_repeated_keys_is_parsed_as_json_parses_it(value: Any, ascii_only: bool) -> None:
    try:
        body = json.dumps(value, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return
    assert parse_json(body) == value


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata": {"tags": [' + b'"",' * 8_000_000 + b'""]}}',
        b"[" + b"[]," * MAX_JSON_VALUES + b"[]]",
        b"[" + b"[[[[[]]]]]," * (MAX_JSON_VALUES // 4) + b"[]]",
        b"[" + b"{}," * MAX_JSON_VALUES + b"{}]",
        b"[" + b"1," * (MAX_JSON_VALUES + 1) + b"1]",
        b'["' + b"\\\\" * 9 + b'",' + b'"",' * (MAX_JSON_VALUES + 1) + b'"\\""]',
    ],
    ids=["empty strings", "lists", "nested lists", "objects", "numbers", "escapes"],
)
def test_more_values_than_the_limit_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="more than 250,000 values"):
        parse_json(body)


def test_marks_in_a_long_text_are_no_values() -> None:
    text = ', "[{' * MAX_JSON_VALUES + "\\" + '"\\n'
    assert parse_json(json.dumps({"content": text}).encode()) == {"content": text}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "the key 'b' occurs twice"),
        (b'{"id": "x", "id": "x"}', "the key 'id' occurs twice"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5_000, "a number has too many digits"),
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_body_is_said(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(body)
