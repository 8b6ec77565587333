import math

from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.tables.metadata_index_terms import filter_tokens, filter_values, sortable_number
from schemas.base import MetadataValue

numbers = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(-3, 3),
    st.integers(-30, 30).map(lambda tenths: tenths / 10),
)


@given(numbers, numbers)
def test_numbers_sort_as_text_exactly_as_they_sort_as_numbers(first: float, second: float) -> None:
    assert (sortable_number(first) < sortable_number(second)) == (first < second)
    assert (sortable_number(first) == sortable_number(second)) == (first == second)


def test_nan_is_not_ordered() -> None:
    assert sortable_number(math.nan) == ""
    assert filter_values({"n": math.nan}) == {}


def test_a_key_that_no_filter_can_name_cannot_imitate_another() -> None:
    assert filter_tokens({"a\x1fs\x1fx": "y"}) == []
    assert filter_values({"a'b": "y"}) == {}


def test_lower_case_is_kept_only_where_it_differs() -> None:
    assert filter_values({"a": "Ab", "b": "ab"}) == {"s:a": "Ab", "i:a": "ab", "s:b": "ab"}


def test_values_of_different_kinds_never_share_a_token() -> None:
    values: list[MetadataValue] = [1, True, "1", "True", ["1"]]
    found = [set(filter_tokens({"k": value})) for value in values]
    assert all(first.isdisjoint(second) for place, first in enumerate(found) for second in found[place + 1 :])
