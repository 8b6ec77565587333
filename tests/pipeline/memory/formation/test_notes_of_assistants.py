"""An assistant's notes are about `the user`, who is the one of the user's own statements."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts, iter_facts
from pipeline.memory.languages.short_messages import Meanings


def _memories(text: str) -> list[str]:
    return [fact.text for fact in extract_facts(text)]


@pytest.mark.parametrize(
    ("note", "memories"),
    [
        ("The user prefers dark mode in every editor.", ["User prefers dark mode in every editor"]),
        ("The user's sister Anna lives in Paris.", ["User's sister Anna lives in Paris"]),
        ("user likes green tea", ["User likes green tea"]),
        ("User's name: Tom", ["User's name is Tom"]),
        ("The user, a vegetarian, lives in Graz.", ["User, a vegetarian, lives in Graz"]),
        (
            "The user and his wife are planning a trip to Japan.",
            ["User and his wife are planning a trip to Japan"],
        ),
        (
            "- The user is allergic to nuts\n- The user works at Acme",
            ["User is allergic to nuts", "User works at Acme"],
        ),
    ],
)
def test_the_user_is_named_as_in_their_own_statements(note: str, memories: list[str]) -> None:
    assert _memories(note) == memories


@pytest.mark.parametrize(
    ("note", "memories"),
    [
        (
            "The user's name is Tom Baker and he is 34 years old.",
            ["User's name is Tom Baker", "User is 34 years old"],
        ),
        (
            "The user is a nurse. She works night shifts at St Mary's.",
            ["User is a nurse", "User works night shifts at St Mary's"],
        ),
        (
            "The user lives in Leeds. They have a parrot called Kiwi.",
            ["User lives in Leeds", "User has a parrot called Kiwi"],
        ),
        (
            "The user's wife is called Ana. She is a dentist.",
            ["User's wife is called Ana", "User's wife is a dentist"],
        ),
    ],
)
def test_pronouns_mean_the_user_of_whom_a_note_speaks(note: str, memories: list[str]) -> None:
    assert _memories(note) == memories


@pytest.mark.parametrize(
    "note", ["The user has two cats. They are called Bo.", "User visited his aunts. They are old."]
)
def test_they_are_others_where_others_were_named(note: str) -> None:
    assert not [memory for memory in _memories(note) if memory.startswith("User is")]


@pytest.mark.parametrize(
    "note", ["The user guide is in the wiki.", "The user interface is blue.", "The new user lives in Paris."]
)
def test_what_only_belongs_to_users_keeps_its_article(note: str) -> None:
    assert not [memory for memory in _memories(note) if memory.startswith("User")]


def test_a_note_that_is_kept_as_it_stands_names_the_user_too() -> None:
    text = "The user said they are allergic to penicillin."
    (fact,) = iter_facts(text, meanings=Meanings({text: 5.0}))
    assert fact.text == "User said they are allergic to penicillin"


def test_a_note_is_kept_that_as_a_message_would_be_of_the_moment() -> None:
    def memories(text: str) -> list[str]:
        return [fact.text for fact in iter_facts(text, meanings=Meanings({text: -5.0}, {}))]

    assert memories("The user prefers concise answers.") == ["User prefers concise answers"]
    assert memories("I prefer concise answers.") == []
