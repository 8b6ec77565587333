"""What is said in irony or was dreamt makes no memory; the same in earnest does."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts


def _memories(text: str) -> list[str]:
    return [fact.text for fact in extract_facts(text, date(2026, 11, 20))]


@pytest.mark.parametrize(
    "text",
    [
        "yeah sure, I moved to Mars",
        "yeah right, I'm the next prime minister",
        "sure, and I'm quitting Siemens to become an astronaut",
        "oh totally, I moved to the moon last week",
        "as if I'd ever switch to Emacs",
        "I bought a castle yesterday \U0001f644",
        "dreamt I got hired by NASA last night",
    ],
)
def test_irony_and_dreams_make_no_memory(text: str) -> None:
    assert _memories(text) == []


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("sure, I live in Leeds", "User lives in Leeds"),
        ("oh yes, I work at Acme now", "User works at Acme now"),
        ("totally forgot: I moved to Oslo", "User moved to Oslo"),
        ("yeah, I moved to Leeds", "User moved to Leeds"),
    ],
)
def test_the_same_openings_in_earnest_do(text: str, memory: str) -> None:
    assert _memories(text) == [memory]


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("the wedding is on the 12th of may", "The wedding is on the 12th of May"),
        ("wedding's postponed to the 20th of september", "User's wedding is postponed to the 20th of September"),
        ("budget got cut to 15k", "User's budget got cut to 15k"),
        ("haven't bitten my nails since june!!", "User hasn't bitten their nails since June"),
        ("we adopted a beagle too, her name is Nori", "User's beagle is called Nori"),
        ("my sister has a dog, his name is Max", "User's sister's dog is called Max"),
        ("I'm a Leeds fan", "User is a Leeds fan"),
        ("ik woon in Utrecht", "User: ik woon in Utrecht"),
    ],
)
def test_short_messages_of_states_and_their_changes_make_memories(text: str, memory: str) -> None:
    assert memory in _memories(text)
