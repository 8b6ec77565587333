"""The day that a question's relative dates count from."""

from datetime import date

import pytest

from api.search.query_variants import resolve_reference_date

NOW = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("query", "stripped", "day"),
    [
        ("As of 8 May 2023, what did Ann do last Friday?", "what did Ann do last Friday?", date(2023, 5, 8)),
        ("Today is 2023-05-08. What did she do?", "What did she do?", date(2023, 5, 8)),
        ("What did Ann do last Friday?", "What did Ann do last Friday?", NOW),
        ("On 8 May, what did Ann do?", "On 8 May, what did Ann do?", NOW),
        ("It is in May 2023, is it not?", "It is in May 2023, is it not?", NOW),
        ("It is 8 May 2023.", "It is 8 May 2023.", NOW),
    ],
)
def test_only_a_whole_day_that_it_names_first_is_taken_for_its_own(query: str, stripped: str, day: date) -> None:
    assert resolve_reference_date(query, NOW) == (stripped, day)
