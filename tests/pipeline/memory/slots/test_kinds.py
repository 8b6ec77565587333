"""Who has no cats has none, however many and whichever there were; in doubt both stay."""

import pytest

from pipeline.memory import keys
from pipeline.memory.relations import replaced
from pipeline.memory.slots.reading import slots

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
    return replaced(slots(new), slots(old)) is not None


@pytest.mark.parametrize(("some", "none"), _DENIED)
def test_who_has_none_of_a_kind_no_longer_has_some(some: str, none: str) -> None:
    assert _updates(none, some)


@pytest.mark.parametrize(
    ("none", "some"),
    [
        ("Maria no longer has cats", "Maria has two cats"),
        ("Maria has no cats", "Maria has a black cat"),
        ("User doesn't have any children", "User has three kids"),
        ("User doesn't drink coffee", "User drinks two coffees"),
    ],
)
def test_who_has_some_after_all_no_longer_has_none(none: str, some: str) -> None:
    assert _updates(some, none)


@pytest.mark.parametrize(("some", "none"), _NOT_DENIED)
def test_what_is_not_of_the_kind_that_is_denied_stays(some: str, none: str) -> None:
    assert not _updates(none, some)


@pytest.mark.parametrize(
    ("none", "some"),
    [("User doesn't drink tea", "User drinks green tea"), ("User doesn't have a red car", "User has a car")],
)
def test_an_exception_does_not_end_what_is_denied(none: str, some: str) -> None:
    assert not _updates(some, none)


@pytest.mark.parametrize(("some", "none"), _DENIED)
def test_what_is_denied_is_found_by_its_kind(some: str, none: str) -> None:
    assert set(keys.held(slots(some))) & set(keys.sought(slots(none)))
    assert set(keys.held(slots(none))) & set(keys.sought(slots(some)))
