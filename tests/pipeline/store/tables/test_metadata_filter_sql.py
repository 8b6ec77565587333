"""Filters in LanceDB agree with `schemas.filters.matches`, flushed or not."""

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pipeline.store import Store
from pipeline.store.tables.metadata_filter_sql import filter_to_sql
from schemas.base import Metadata
from schemas.filters import FilterExpression, matches
from tests.support.store_rows import document, open_test_store, store_documents

expressions: TypeAdapter[FilterExpression] = TypeAdapter(FilterExpression)

_TEXTS = [
    "", "a", "A", "ab", "5", "5.0", "true", "True", "it's", "''", '"', "\\", "%", "_", "a\x00b", "\x1f",
    "k\x1fs\x1fa", "; DROP TABLE x",
    "') OR true --", "İ", "i̇", "ß", "SS", "Σ", "ΑΣ", "\u03b1\u03c2", "\u03b1\u03c3", "ǅ", "🎉",
    "\u2028", "x" * 200,
    "X" * 200, "null", "[]", '{"a":1}', "/*", "--", "$[0]", "\n",
]  # fmt: skip
_NUMBERS = [
    0,
    1,
    5,
    -1,
    1.0,
    5.5,
    -0.0,
    0.1,
    2**53,
    2**53 + 1,
    float(2**53),
    1e300,
    -1e-300,
    10**30,
    3.0000000001,
]
_KEYS = ["a", "a.b", "b", "A", "_", "-", "a-b", "k", "0", "s", "n.1"]

texts = st.one_of(st.sampled_from(_TEXTS), st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
numbers = st.one_of(
    st.sampled_from(_NUMBERS), st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False)
)
keys = st.sampled_from(_KEYS)
# Keys of metadata may be anything; those of filters may not.
metadata_keys = st.one_of(keys, st.sampled_from(["it's", "ключ", "a\x1fs\x1fb", '"', "s:a", ""]))
values = st.one_of(texts, numbers, st.booleans(), st.lists(texts, max_size=3))
metadatas = st.dictionaries(metadata_keys, values, max_size=5)


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["eq", "order", "contains", "array"]))
    field = draw(keys)
    match kind:
        case "eq":
            value = draw(st.one_of(texts, numbers, st.booleans()))
            operator = draw(st.sampled_from(["eq", "neq"]))
        case "order":
            value = draw(numbers)
            operator = draw(st.sampled_from(["gt", "gte", "lt", "lte"]))
        case "contains":
            value = draw(texts)
            operator = draw(st.sampled_from(["contains", "notContains", "startsWith"]))
        case _:
            value = draw(texts)
            operator = draw(st.sampled_from(["arrayContains", "arrayNotContains"]))
    leaf = {"field": field, "operator": operator, "value": value}
    if isinstance(value, str) and kind in {"eq", "contains"} and operator != "startsWith":
        leaf["caseSensitive"] = draw(st.booleans())
    return leaf


def groups(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"operator": st.sampled_from(["and", "or"]), "operands": st.lists(inner, min_size=1, max_size=4)}
    )


nested = st.recursive(leaves(), groups, max_leaves=12)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module", params=[False, True], ids=["exclusive", "shared"])
def store(request: pytest.FixtureRequest, loop: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return loop.run(open_test_store(tmp_path_factory.mktemp("filters"), shared=request.param))


_incarnation = count()


async def _passing(store: Store, incarnation: str, raw: dict[str, Any]) -> set[str]:
    return await store.documents.matching_keys([incarnation], expressions.validate_python(raw))


async def _compare(store: Store, metadatas: list[Metadata], filters: list[dict[str, Any]]) -> None:
    incarnation = f"n{next(_incarnation)}#0"
    rows = [document(str(number), incarnation, metadata=metadata) for number, metadata in enumerate(metadatas)]
    await store_documents(store, *rows)
    expected = [{row.key for row in rows if matches(expressions.validate_python(raw), row.metadata)} for raw in filters]
    fresh = [await _passing(store, incarnation, raw) for raw in filters]
    await store.documents.wait_until_durable()
    flushed = [await _passing(store, incarnation, raw) for raw in filters]
    assert fresh == expected
    assert flushed == expected


@pytest.mark.no_cover
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(metadatas, min_size=1, max_size=25), st.lists(nested, min_size=1, max_size=15))
def test_lancedb_and_plain_python_agree_on_every_filter(
    store: Store, loop: asyncio.Runner, metadatas: list[Metadata], filters: list[dict[str, Any]]
) -> None:
    loop.run(_compare(store, metadatas, filters))


@pytest.mark.no_cover
def test_every_hostile_text_matches_itself_only(store: Store, loop: asyncio.Runner) -> None:
    metadatas: list[Metadata] = [{"a.b": text} for text in _TEXTS]
    filters = [
        {"field": "a.b", "operator": operator, "value": text, "caseSensitive": sensitive}
        for text in _TEXTS
        for operator in ("eq", "neq", "contains")
        for sensitive in (True, False)
    ]
    filters += [{"field": "a.b", "operator": "startsWith", "value": text} for text in _TEXTS]
    loop.run(_compare(store, metadatas, filters))


def test_filters_of_two_hundred_operands_and_five_levels_work(store: Store, loop: asyncio.Runner) -> None:
    predicates = [{"field": "a", "operator": "contains", "value": f"v{number}"} for number in range(200)]
    deep: dict[str, Any] = {"operator": "or", "operands": predicates}
    for level in range(4):
        deep = {"operator": "and" if level % 2 == 0 else "or", "operands": [deep]}
    wide = {
        "operator": "and",
        "operands": [{"field": "a", "operator": "neq", "value": f"v{number}"} for number in range(200)],
    }
    loop.run(_compare(store, [{"a": "v7"}, {"a": "w"}, {}], [deep, wide]))


def test_many_equalities_become_one_condition_on_the_tokens() -> None:
    raw = {
        "operator": "or",
        "operands": [{"field": "a", "operator": "eq", "value": f"{number}"} for number in range(200)],
    }
    assert filter_to_sql(expressions.validate_python(raw)).count("array_has_any") == 1


def test_every_quote_in_a_condition_is_doubled() -> None:
    raw = {"field": "a", "operator": "contains", "value": "' OR true --"}
    assert "''' OR true --'" in filter_to_sql(expressions.validate_python(raw))
