"""Contradiction of two statements' attributes."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.versioning.fact_comparison import find_contradiction


def _ends(newer: str, older: str) -> bool:
    (new,), (old,) = extract_facts(newer), extract_facts(older)
    return find_contradiction(new.attributes, old.attributes) is not None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The shop opens at 9", "The shop opens at 10 on Sundays"),
        ("The library closes at 8 pm", "The library closes at 5 pm in the summer holidays"),
        ("My yoga class is at 6", "My yoga class is at 7 on Fridays"),
    ],
)
def test_an_exception_ends_no_rule(older: str, newer: str) -> None:
    assert not _ends(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The shop opens at 9", "The shop opens at 10 now"),
        ("The shop opens at 9 on weekdays", "The shop opens at 10 on weekdays"),
    ],
)
def test_a_rule_ends_a_rule_and_an_exception_an_exception(older: str, newer: str) -> None:
    assert _ends(newer, older)
