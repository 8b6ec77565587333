"""Numbers of sheets that read otherwise than they are stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parsing.office.number_formats import show_formatted_numbers, shown_number
from tests.support import file_samples


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        ("7.5E-2", "0.0%", "7.5%"),
        ("-0.2", "#,##0%;[Red]-#,##0%", "-20%"),
        ("0.5", "0\\ %", "50 %"),
        ("491701234567", "0000-0000-0000", "4917-0123-4567"),
        ("123456", "0000", "123456"),
        ("815.5", "00000", None),
        ("44562", "yyyy-mm-dd", None),
        ("12", "0", None),
        ("12", "General", None),
        ("", "0%", None),
        ("1e999999999", "00000", None),
        ("inf", "0%", None),
    ],
)
def test_percentages_and_leading_zeros_are_shown(number: str, code: str, shown: str | None) -> None:
    assert shown_number(number, code) == shown


@given(st.binary(max_size=200))
def test_what_is_no_workbook_stays_as_it_is(data: bytes) -> None:
    assert show_formatted_numbers(data) == data


def test_a_workbook_without_such_formats_stays_as_it_is() -> None:
    book = file_samples.xlsx([["Part", "Share"]])
    assert show_formatted_numbers(book) is book


@given(st.decimals(), st.text('0#.,%- ;[]"\\\\', max_size=12))
def test_any_number_and_code_are_survived(number: object, code: str) -> None:
    shown_number(str(number), code)
