"""A newer statement ends an older one where both say so, whatever the words; in doubt it does not."""

import pytest

from pipeline.memory.attributes.replacement import replaces

ENDED = [
    ("User sings in the church choir", "User quit the choir, too much drama"),
    ("User drives a diesel Passat", "User traded the Passat in for an ID.4"),
    ("User is in Lisbon for the winter", "User left Lisbon on 15 November 2026"),
    ("User manages 4 people", "Since the reorg User manages 9 people"),
    ("User has braces", "User got their braces off on 21 November 2026"),
    ("User is with Vodafone", "User left Vodafone after the last outage, O2 now"),
    ("User's favourite pub is the Crown", "The Crown shut down for good"),
    ("User runs 5k every morning", "User stopped running, shin splints"),
    ("User wants to buy a caravan", "User bought a caravan, second hand but lovely"),
    ("User pays 12 euros for Spotify", "User pays 14 euros now"),
    ("User takes 50 mg of sertraline", "Doc upped the sertraline to 75 mg"),
    ("User: J'habite \u00e0 Metz", "User: on a d\u00e9m\u00e9nag\u00e9 \u00e0 Nancy"),
]
HELD = [
    ("User sings in the church choir", "User left the choir rehearsal early"),
    ("User lives in Ghent", "User went to Bruges for the chocolate festival"),
    ("User has a dog named Bo", "User took Bo out for a walk"),
    ("User has a garden", "User's neighbours gave up their garden"),
    ("User has a car", "User lost the car keys"),
    ("User works at Aldi", "User left Aldi at 6"),
    ("User uses Trello", "User might cancel Trello"),
    ("User is in the chess club", "Tom quit the chess club"),
    ("User has a PlayStation", "User also has an Xbox now"),
    ("User: Ich lebe in Mainz", "User: mein Bruder ist nach Fulda gezogen"),
]


@pytest.mark.parametrize(("older", "newer"), ENDED)
def test_what_has_ended_or_changed_is_replaced(older: str, newer: str) -> None:
    assert replaces(newer, older)


@pytest.mark.parametrize(("older", "newer"), HELD)
def test_what_still_holds_is_not_replaced(older: str, newer: str) -> None:
    assert not replaces(newer, older)


@pytest.mark.parametrize(("older", "newer"), ENDED)
def test_what_has_ended_does_not_end_its_end(older: str, newer: str) -> None:
    assert not replaces(older, newer)
