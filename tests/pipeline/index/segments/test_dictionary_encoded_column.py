"""Filters as masks mean what `schemas.filters.matches` means."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench.doubles.sample_rows import document_row
from pipeline.index.segments.document_store import DocumentStore, document_columns
from pipeline.rows import DocumentRow
from schemas.base import Metadata
from schemas.filters import (
    ArrayMembership,
    Conjunction,
    Disjunction,
    FilterExpression,
    NumericComparison,
    ScalarEquality,
    StringEquality,
    SubstringMatch,
    matches,
)
from tests.support.index_harness import INCARNATION

FIELDS = st.sampled_from(["a", "b.c", "d-e"])
STRINGS = st.sampled_from(["", "x", "X", "straße", "STRASSE", "1", "true", "xyz", 'q"\\', "猫"])
NUMBERS = st.sampled_from([0, -1, 1, 1.0, 1.5, -0.0, 2**53, 2**53 + 1, 2**60, 1e300]) | st.integers(-3, 3)
VALUES = STRINGS | NUMBERS | st.booleans() | st.lists(STRINGS, max_size=3)
METADATA = st.dictionaries(FIELDS, VALUES, max_size=3)
EQUALITY = st.sampled_from(["eq", "neq"])
CONTAINING = st.sampled_from(["contains", "notContains"])
AMONG = st.sampled_from(["arrayContains", "arrayNotContains"])
ORDER = st.sampled_from(["gt", "gte", "lt", "lte"])
PREDICATES = st.one_of(
    st.builds(
        StringEquality,
        field=FIELDS,
        operator=EQUALITY,
        value=STRINGS,
        case_sensitive=st.booleans(),
    ),
    st.builds(ScalarEquality, field=FIELDS, operator=EQUALITY, value=NUMBERS | st.booleans()),
    st.builds(NumericComparison, field=FIELDS, operator=ORDER, value=NUMBERS),
    st.builds(
        SubstringMatch,
        field=FIELDS,
        operator=CONTAINING,
        value=STRINGS,
        case_sensitive=st.booleans(),
    ),
    st.builds(
        ArrayMembership,
        field=FIELDS,
        operator=AMONG,
        value=STRINGS,
    ),
)
EXPRESSIONS: st.SearchStrategy[FilterExpression] = st.recursive(
    PREDICATES,
    lambda inner: (
        st.builds(Conjunction, operator=st.just("and"), operands=st.lists(inner, min_size=1, max_size=3))
        | st.builds(Disjunction, operator=st.just("or"), operands=st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=5,
)


def _row(key: str, metadata: Metadata) -> DocumentRow:
    return document_row(key, INCARNATION, metadata=metadata)


def _agree(side: DocumentStore, documents: dict[str, Metadata], expression: Any) -> None:
    passed = side.filter_mask(expression)
    for key, metadata in documents.items():
        assert bool(passed[side.ordinals([key])[0]]) == matches(expression, metadata)


@given(st.lists(METADATA, max_size=8), EXPRESSIONS)
def test_a_mask_lets_through_what_matches(every: list[Metadata], expression: FilterExpression) -> None:
    documents = {f"k{at}": metadata for at, metadata in enumerate(every)}
    side = DocumentStore(document_columns([_row(key, metadata) for key, metadata in documents.items()]))
    _agree(side, documents, expression)


@given(
    st.lists(METADATA, max_size=5),
    st.dictionaries(st.sampled_from(["k0", "k1", "k2", "new"]), METADATA),
    EXPRESSIONS,
)
def test_a_mask_follows_changes(
    every: list[Metadata], changed: dict[str, Metadata], expression: FilterExpression
) -> None:
    documents = {f"k{at}": metadata for at, metadata in enumerate(every)}
    side = DocumentStore(document_columns([_row(key, metadata) for key, metadata in documents.items()]))
    side.filter_mask(expression)
    side.apply({key: [_row(key, metadata)] for key, metadata in changed.items()})
    _agree(side, documents | changed, expression)
    side._pack_overrides()
    side._metadata_columns.clear()
    _agree(side, documents | changed, expression)


def test_documents_keep_their_ordinals_and_facts_while_others_come_and_go() -> None:
    side = DocumentStore(document_columns([_row("a", {"n": 1}), _row("b", {})]))
    first = int(side.ordinals(["b"])[0])
    assert len(side.apply({"a": [], "c": [_row("c", {"n": 3})], "never-seen": []})) == 2
    assert not len(side.apply({"b": [_row("b", {"n": 2})]}))
    assert int(side.ordinals(["b"])[0]) == first
    facts = side.get(first)
    assert facts is not None
    assert facts.parsed_metadata() == {"n": 2}
    assert side.get(int(side.ordinals(["a"])[0])) is None
    assert len(side) == 2
    assert np.count_nonzero(side.present) == 2
