"""Slots, and when one value contradicts another."""

import pytest

from pipeline.memory.attributes.attribute import is_equivalent
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.versioning.fact_comparison import find_contradiction


def _updates(new: str, old: str) -> bool:
    return find_contradiction(comparable_attributes(new), comparable_attributes(old)) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User lives in Berlin", "User moved to Paris last month"),
        ("User lives in Berlin", "User now lives in New York City"),
        ("User lives in Berlin", "User no longer lives in Berlin"),
        ("User lives in Berlin, close to the river", "User lives in Paris, not Berlin"),
        ("User's favourite color is green", "User's favorite colour is now blue"),
        ("User works at Acme", "User started working at Beta Corp"),
        ("Ann works as a nurse", "Ann works as a pilot"),
        ("User's name is Bob", "User's name is Alice"),
        ("User is 34 years old", "User is 35"),
        ("User's email is a@b.de", "User's email is c@d.de"),
        ("User uses Vim", "User switched from Vim to Emacs"),
        ("User uses Vim", "User no longer uses Vim"),
        ("The status of Apollo is open", "Apollo's status is now closed"),
        ("The deadline of Apollo is May 3", "The deadline for Apollo has been moved from May 3 to May 9"),
        ("The basic plan costs 5 EUR", "The price of the basic plan rose to 7 EUR"),
        ("User's savings goal is 10k", "User upped their savings goal to 15k"),
        ("The manager of Ann is Bob Smith", "Ann's manager is now Eve Stone"),
        ("The API version is v2", "The API version is v3"),
        ("User is working days on the ward", "User is now on nights from the week of 16 November 2026"),
        ("Dr. Weiss is User's dentist", "User's dentist is Dr. Aydin now"),
        ("User is unemployed", "User got the job at Bosch"),
    ],
)
def test_a_changed_value_of_one_attribute_updates(old: str, new: str) -> None:
    assert _updates(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User lives in Berlin", "Ann lives in Paris"),
        ("User lives in Berlin", "User works at Paris Bakery"),
        ("User lives in Berlin", "User lives in Germany"),
        ("User lives in Berlin", "User lives in East Berlin"),
        ("User lives in Berlin", "User moved to a new team"),
        ("User lives in Berlin", "User lives in Berlin, close to the river"),
        ("User likes tea", "User likes coffee, not tea"),
        ("User lives in Berlin", "User visited Paris"),
        ("User lives in Berlin", "User lives in a house"),
        ("User lives in Berlin", "User no longer lives in Paris"),
        ("Ann works as a nurse", "Ann works as a head nurse"),
        ("User uses Vim", "User uses Emacs"),
        ("User uses Vim", "User switched from Nano to Emacs"),
        ("User likes tea", "User likes coffee"),
        ("User's favourite color is green", "User's favourite food is pizza"),
        ("User's favourite book is Dune", "User's favourite book is great"),
        ("The status of Apollo is open", "The status of Gemini is closed"),
        ("The deadline of Apollo is May 3", "The deadline of Apollo was very important to us"),
        ("User has a dog named Rex", "User has a cat named Tom"),
        ("User is 34 years old", "User is 35 minutes late"),
        ("User lives in Berlin", "User lives in berlin"),
    ],
)
def test_ambiguous_changes_update_nothing(old: str, new: str) -> None:
    assert not _updates(new, old)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("User is on vacation until 27 November 2026", "User is on vacation"),
        ("User works as a waiter in Split", "User works as a waiter"),
        ("User moved to Paris", "User lives in Paris"),
        ("User lives in Paris, near the river", "User lives in Paris"),
        ("User loves tea", "User likes tea"),
        ("User is married to Kim", "User is married"),
        ("User had a son called Tom", "User had a daughter called Mia"),
    ],
)
def test_a_fact_with_more_detail_is_not_equivalent(first: str, second: str) -> None:
    assert not any(
        is_equivalent(ours, theirs) for ours in comparable_attributes(first) for theirs in comparable_attributes(second)
    )
