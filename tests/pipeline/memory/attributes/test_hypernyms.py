"""Denied kinds: having no cats contradicts any cats; in doubt both facts stay."""

import pytest

from pipeline.memory.attributes.attribute_extraction import extract_attributes
from pipeline.memory.versioning import comparison_keys
from pipeline.memory.versioning.fact_comparison import find_contradiction

_DENIED = [
    ("Maria has two cats", "Maria no longer has cats"),
    ("Maria has two cats", "Maria has no cats"),
    ("Maria has two cats, Mimi and Tom", "Maria no longer has a cat"),
    ("Maria has two cats named Mimi and Tom", "Maria has no cats any more"),
    ("User has a dog named Rex", "User no longer has a dog"),
    ("User has a red car", "User doesn't have a car"),
    ("User owns an old car", "User no longer owns a car"),
    ("User drinks black coffee", "User no longer drinks coffee"),
    ("User eats a lot of meat", "User stopped eating meat"),
    ("User speaks three languages", "User speaks no languages"),
    ("User is a heavy smoker", "User is no longer a smoker"),
    ("User has two children", "User doesn't have any kids"),
]
_NOT_DENIED = [
    ("Ann has two cats", "User no longer has cats"),
    ("User has two cats", "User no longer has two cars"),
    ("User has two cats", "User no longer has the cat"),
    ("User has two cats", "User's cat died"),
    ("User has two cars", "User sold the car"),
    ("User has cats", "User no longer has cats at home"),
    ("User has a job", "User no longer has two jobs"),
    ("User has a car loan", "User doesn't have a car"),
    ("User has a toy car", "User has no car"),
    ("User has a company", "User has no company car"),
    ("User drinks oat milk", "User doesn't drink milk"),
    ("User likes hot dogs", "User doesn't like dogs"),
    ("User likes dark chocolate", "User doesn't like chocolate"),
    ("User has little time", "User has no time"),
    ("User has a dog", "User has two cats, Mimi and Tom"),
]


def _updates(new: str, old: str) -> bool:
    return find_contradiction(extract_attributes(new), extract_attributes(old)) is not None


@pytest.mark.parametrize(("value", "denial"), _DENIED)
def test_denying_a_kind_ends_every_value_of_it(value: str, denial: str) -> None:
    assert _updates(denial, value)


@pytest.mark.parametrize(
    ("denial", "value"),
    [
        ("Maria no longer has cats", "Maria has two cats"),
        ("Maria has no cats", "Maria has a black cat"),
        ("User doesn't have any children", "User has three kids"),
        ("User doesn't drink coffee", "User drinks two coffees"),
    ],
)
def test_a_value_of_a_kind_ends_its_denial(denial: str, value: str) -> None:
    assert _updates(value, denial)


@pytest.mark.parametrize(("value", "denial"), _NOT_DENIED)
def test_a_denial_leaves_other_kinds_unchanged(value: str, denial: str) -> None:
    assert not _updates(denial, value)


@pytest.mark.parametrize(
    ("denial", "value"),
    [("User doesn't drink tea", "User drinks green tea"), ("User doesn't have a red car", "User has a car")],
)
def test_an_exception_does_not_end_a_denial(denial: str, value: str) -> None:
    assert not _updates(value, denial)


@pytest.mark.parametrize(("value", "denial"), _DENIED)
def test_denied_values_share_a_lookup_key_with_their_kind(value: str, denial: str) -> None:
    assert set(comparison_keys.index_keys(extract_attributes(value))) & set(
        comparison_keys.lookup_keys(extract_attributes(denial))
    )
    assert set(comparison_keys.index_keys(extract_attributes(denial))) & set(
        comparison_keys.lookup_keys(extract_attributes(value))
    )
