"""Sentences of hurried people, which commas join."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts


def texts(said: str) -> list[str]:
    return [fact.text for fact in extract_facts(said)]


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "My sister lives in Oslo, she's a nurse, her husband works for Equinor",
            ["User's sister lives in Oslo", "User's sister is a nurse", "User's sister's husband works for Equinor"],
        ),
        ("Dad says hes fine but he isnt, he fell again on tuesday", ["User's dad fell again on Tuesday"]),
        (
            "I work nights, my wife works days, the kids go to my mum's",
            ["User works nights", "User's wife works days", "User's kids go to User's mum's"],
        ),
        (
            "I don't need it for anything important, just got 12k from my uncle",
            ["User just got 12k from their uncle"],
        ),
        (
            "the plumber is called Terry and he charges 55 an hour",
            ["The plumber is called Terry", "Terry charges 55 an hour"],
        ),
    ],
)
def test_each_sentence_before_a_comma_stands_alone(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


@pytest.mark.parametrize("said", ["If I get the job, we'd move to Oslo", "I hope he comes, we miss him"])
def test_what_a_condition_or_a_hope_is_about_is_not_said(said: str) -> None:
    assert not texts(said)


def test_when_something_happened_is_no_question() -> None:
    assert texts("When I was 7, I nearly drowned in a lake") == ["When User was 7, User nearly drowned in a lake"]


@pytest.mark.parametrize(
    ("note", "fact"),
    [
        ("swimming moved to weds 4.15", None),
        ("Swimming twice a week since May", "User is swimming twice a week since May"),
        ("No more running for me", "User stopped running"),
        ("My back is killing me", None),
    ],
)
def test_what_one_does_is_told_from_what_was_moved(note: str, fact: str | None) -> None:
    assert [text for text in texts(note) if text.startswith("User")] == ([] if fact is None else [fact])


def test_a_standup_in_lines_is_the_teams() -> None:
    said = "standup tue\n- Wes: finished the csv import\n- Ifeoma: blocked, staging is down\n- Jurgen off til thurs"
    assert not any(text.startswith("User") for text in texts(said))
