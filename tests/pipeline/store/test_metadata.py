import math

from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.metadata import facts, ordered, tokens
from schemas.base import MetadataValue

numbers = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(-3, 3),
    st.integers(-30, 30).map(lambda tenths: tenths / 10),
)


@given(numbers, numbers)
def test_numbers_sort_as_text_exactly_as_they_sort_as_numbers(one: float, other: float) -> None:
    assert (ordered(one) < ordered(other)) == (one < other)
    assert (ordered(one) == ordered(other)) == (one == other)


def test_not_a_number_has_no_place_in_the_order() -> None:
    assert ordered(math.nan) == ""
    assert facts({"n": math.nan}) == {}


def test_a_key_that_no_filter_can_name_can_not_pretend_to_be_another() -> None:
    assert tokens({"a\x1fs\x1fx": "y"}) == []
    assert facts({"a'b": "y"}) == {}


def test_lower_case_is_kept_only_where_it_differs() -> None:
    assert facts({"a": "Ab", "b": "ab"}) == {"s:a": "Ab", "i:a": "ab", "s:b": "ab"}


def test_values_of_different_kinds_never_share_a_token() -> None:
    values: list[MetadataValue] = [1, True, "1", "True", ["1"]]
    found = [set(tokens({"k": value})) for value in values]
    assert all(one.isdisjoint(other) for place, one in enumerate(found) for other in found[place + 1 :])
