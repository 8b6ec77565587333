"""Bodies as the contract has them: every filter is read as what it says, or refused with its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas.filters import FilterExpression, exceeds_depth
from schemas.http.v5.connector_bodies import ConnectorBody, ConnectorPatch
from schemas.http.v5.document_bodies import DocumentBody, validate_content
from schemas.http.v5.list_bodies import ListBody
from schemas.limits import MAX_CONNECTOR_TEXT_LENGTH, MAX_CONTENT_BYTES

FIELDS = st.from_regex(r"\A[a-zA-Z0-9_.-]{1,8}\Z")
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(st.characters(codec="utf-8"), max_size=8)


def predicate(operators: list[str], values: st.SearchStrategy[Any], *, cases: bool = False) -> st.SearchStrategy[Any]:
    """A predicate as it is sent."""
    optional = {"caseSensitive": st.booleans()} if cases else {}
    return st.fixed_dictionaries(
        {"field": FIELDS, "operator": st.sampled_from(operators), "value": values}, optional=optional
    )


PREDICATES = st.one_of(
    predicate(["eq", "neq"], WORDS, cases=True),
    predicate(["eq", "neq"], NUMBERS | st.booleans()),
    predicate(["gt", "gte", "lt", "lte"], NUMBERS),
    predicate(["contains", "notContains"], WORDS, cases=True),
    predicate(["arrayContains", "arrayNotContains"], WORDS),
)


def group(operands: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A group as it is sent."""
    return st.fixed_dictionaries(
        {"operator": st.sampled_from(["and", "or"]), "operands": st.lists(operands, min_size=1, max_size=3)}
    )


EXPRESSIONS = st.recursive(PREDICATES, group, max_leaves=8)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS | st.sampled_from(["and", "eq", "gt", "contains", "field"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["field", "operator", "value", "operands", "caseSensitive", "x"]), inner)
    ),
    max_leaves=12,
)
PLAIN: TypeAdapter[FilterExpression] = TypeAdapter(FilterExpression)


@given(EXPRESSIONS)
def test_a_filter_is_read_as_the_plain_schema_reads_it(raw: Any) -> None:
    if exceeds_depth(raw):
        with pytest.raises(ValidationError, match="levels deep"):
            ListBody.model_validate({"filter": raw})
    else:
        assert ListBody.model_validate({"filter": raw}).filter == PLAIN.validate_python(raw)


@given(ANYTHING)
def test_what_is_read_as_a_filter_is_one(raw: Any) -> None:
    try:
        found = ListBody.model_validate({"filter": raw}).filter
    except ValidationError:
        return
    assert found is None or PLAIN.validate_python(found.model_dump(by_alias=True)) == found


def test_a_problem_of_a_filter_names_its_place() -> None:
    raw = {
        "operator": "or",
        "operands": [{"field": "a", "operator": "eq", "value": 1}, {"field": "a", "operator": "gt"}],
    }
    with pytest.raises(ValidationError, match=r"operands\.1\.value: is required"):
        ListBody.model_validate({"filter": raw})


@given(st.dictionaries(WORDS, st.none() | NUMBERS | st.booleans() | WORDS | st.lists(WORDS), max_size=4))
def test_metadata_keeps_every_value_and_its_type_and_leaves_out_null(raw: dict[str, Any]) -> None:
    try:
        kept = DocumentBody.model_validate({"content": "x", "metadata": raw}).metadata
    except ValidationError:
        assert "\x00" in repr(raw) or "\\x00" in repr(raw)
        return
    expected = {key: value for key, value in raw.items() if value is not None}
    assert repr(kept) == repr(expected)


def test_whole_numbers_beyond_64_bits_become_floats() -> None:
    body = DocumentBody.model_validate({"content": "x", "metadata": {"a": 2**63, "b": 2**63 - 1}})
    assert body.metadata == {"a": float(2**63), "b": 2**63 - 1}
    assert body.metadata is not None
    assert isinstance(body.metadata["a"], float)


def test_content_is_bounded_in_bytes() -> None:
    assert validate_content("x" * MAX_CONTENT_BYTES) is None
    assert validate_content("é" * MAX_CONTENT_BYTES) is not None
    assert validate_content("x" * (MAX_CONTENT_BYTES + 1)) is not None


LONG = "a" * (MAX_CONNECTOR_TEXT_LENGTH + 1)
BUCKET = {"bucket": "abc", "region": "eu-central-1", "accessKeyId": "a", "secretAccessKey": "b"}


@pytest.mark.parametrize(
    ("provider", "config", "field"),
    [
        *(("s3", {**BUCKET, name: LONG}, name) for name in ("accessKeyId", "secretAccessKey", "prefix")),
        *(
            ("s3", {**BUCKET, "region": region}, "region")
            for region in ("eu\r\nx", "\u043a", "x@127.0.0.1:1/", "a.b/#", LONG)
        ),
        ("s3", {**BUCKET, "endpoint": f"https://example.org/{LONG}"}, "endpoint"),
        ("granola", {"apiKey": LONG}, "apiKey"),
        ("web-crawler", {"startUrl": f"https://example.org/{LONG}"}, "startUrl"),
    ],
)
def test_options_of_connectors_are_bounded(provider: str, config: dict[str, str], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter[Any](ConnectorBody).validate_python({"provider": provider, "config": config})
    assert [error["loc"][-1] for error in refused.value.errors()] == [field]


def test_ids_of_a_selection_are_bounded() -> None:
    with pytest.raises(ValidationError, match="more than"):
        ConnectorPatch.model_validate({"selection": {"repos": [LONG]}})
