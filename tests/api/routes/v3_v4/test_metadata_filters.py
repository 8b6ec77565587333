"""Metadata filters of v3 mean what their clients mean."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.errors.http_errors import BadRequestError
from api.routes.v3_v4.metadata_filters import parse_filters
from schemas.filters import matches

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["AND", "OR", "key", "value", "filterType", "negate"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.integers(-1000, 1000) | st.booleans() | st.text(min_size=1, max_size=10))
def test_equality_compares_what_is_written(value: Any) -> None:
    written = str(value).lower() if isinstance(value, bool) else str(value)
    selected = parse_filters({"AND": [{"key": "field", "value": written}]})
    refused = parse_filters({"AND": [{"key": "field", "value": written, "negate": True}]})
    assert selected is not None
    assert refused is not None
    assert matches(selected, {"field": value})
    assert not matches(refused, {"field": value})
    assert not matches(selected, {})


@given(JSON)
def test_any_json_is_a_filter_or_a_bad_request(raw: Any) -> None:
    with suppress(BadRequestError):
        parse_filters(raw)


def test_an_error_names_the_filters() -> None:
    with pytest.raises(BadRequestError) as caught:
        parse_filters({"AND": "x"})
    assert caught.value.details == "filters: AND must be a list of conditions."


@pytest.mark.parametrize(("filepath", "matching"), [("/a/b.md", True), ("/a/", True), ("/c/", False), ("/a", False)])
def test_a_file_path_selects_a_file_or_a_folder(filepath: str, matching: bool) -> None:
    selected = parse_filters(None, filepath)
    assert selected is not None
    assert matches(selected, {"filepath": "/a/b.md"}) is matching
