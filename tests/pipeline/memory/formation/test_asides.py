"""What requests tell in passing."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts

MONDAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (
            "hey, can you suggest a gift for my brother? he turns 40 and he's into climbing",
            ["User's brother turns 40", "User's brother is into climbing"],
        ),
        ("suggest a gift for my sister, she's a keen runner", ["User's sister is a keen runner"]),
        (
            "since we moved out to Rye I need a car",
            ["User moved out to Rye", "User needs a car"],
        ),
        ("as a vegetarian I struggle to find a lunch", ["User is a vegetarian", "User struggles to find a lunch"]),
        ("As a nurse, I worked nights in Leeds", ["As a nurse, User worked nights in Leeds"]),
        ("As a teacher I used to travel a lot", []),
        ("As a reminder, I live in Oslo", ["As a reminder, User lives in Oslo"]),
        ("what is a good dessert, because my daughter is allergic to nuts?", ["User's daughter is allergic to nuts"]),
        ("what's the cheapest way to send money, my parents live in Kumasi", ["User's parents live in Kumasi"]),
        ("is it because I'm a woman?", []),
        ("what would you do if I moved to Rome, I'm curious", []),
        ("what can I cook for my husband Dev", ["User's husband is called Dev"]),
        ("my therapist (Dr. Oyelaran) wants to meet weekly", ["User's therapist is called Dr. Oyelaran"]),
        ("as a type 1 diabetic with a pump, what can I eat?", ["User is a type 1 diabetic with a pump"]),
        ("a card for my mother in law Jean, who turns 80 soon?", ["User's mother-in-law is called Jean"]),
        ("draft a note to my son's teacher Mr Obi please", ["User's son's teacher is called Mr Obi"]),
        ("looking for a flat in Leith, must take dogs", ["User is looking for a flat in Leith"]),
        ("looking for a good recipe for banana bread", []),
        ("what is it worth? we're selling ours before we move to Rye in July", ["User moves to Rye in July"]),
        (
            "what's a good mask, im starting at the depot on monday",
            ["User is starting at the depot on 30 November 2026"],
        ),
        (
            "a eulogy for my uncle James please, he drove the number 9 bus",
            ["User's uncle James drove the number 9 bus"],
        ),
        ("hi, im a single dad (two girls), any cheap holiday ideas?", ["User is a single dad (two girls)"]),
        ("if my brother earns 40k and I earn 30k who pays more tax", []),
        ("no fish and I've only got a microwave at work", ["No fish and User has only got a microwave at work"]),
        ("My nephew Otto turns six in May, ideas for a present?", ["User's nephew Otto turns six in May"]),
        ("my wife is a nurse, what can i cook after her shift", ["User's wife is a nurse"]),
    ],
)
def test_a_request_gives_what_it_tells_in_passing(message: str, facts: list[str]) -> None:
    found = [fact.text for fact in extract_facts(message, MONDAY)]
    assert [fact for fact in facts if fact not in found] == []
    assert facts or not found


@pytest.mark.parametrize(
    ("asked", "answer", "fact"),
    [
        ("What kind of dog do you have?", "a beagle, he's 9 and deaf as a post", "User has a beagle"),
        ("Any fish you don't like?", "no mackerel pls", "User doesn't like mackerel"),
        ("Do you take milk in your coffee?", "yes, with oat milk", "User takes milk in their coffee with oat milk"),
        ("Do you want automatic?", "yes automatic please, I only have an automatic licence", "automatic licence"),
        ("Do you have any dietary needs?", "no pork", "User's dietary needs are no pork"),
    ],
)
def test_an_answer_gives_what_was_asked_for(asked: str, answer: str, fact: str) -> None:
    found = [each.text for each in extract_facts(f"assistant: {asked}\nuser: {answer}", MONDAY)]
    assert any(fact in each for each in found), found


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("my doctor says it's a good idea", None),
        ("she made me dinner", None),
        ("Ines and I are moving in together in July", "Ines and User are moving in together in July"),
        ("my doctor put me on a statin", "User is now on a statin"),
    ],
)
def test_what_others_did_is_said_of_the_user(message: str, fact: str | None) -> None:
    found = [each.text for each in extract_facts(message, MONDAY)]
    assert found == ([] if fact is None else [fact])


def test_a_message_after_a_game_is_the_users_again() -> None:
    chat = (
        "user: act as an interviewer. my name for this is Alex Turner\nassistant: Tell me about yourself.\n"
        "user: I'm Alex and I work at Google\nassistant: Why do you leave?\nuser: ok stop, thanks. I live in Berlin"
    )
    assert [fact.text for fact in extract_facts(chat, MONDAY)] == ["User lives in Berlin"]


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("I'm 74 and not great with computers", "User is 74 and not great with computers"),
        ("im left handed so nothing with a weird grip", "User is left-handed"),
    ],
)
def test_a_state_keeps_what_belongs_to_it(message: str, fact: str) -> None:
    assert [each.text for each in extract_facts(message, MONDAY)] == [fact]


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("2 adults, plus my nephew on Sundays, he's 9", ["User's nephew is 9"]),
        (
            "We're trying for a baby, been trying for 14 months.",
            ["User is trying for a baby", "User has been trying for 14 months"],
        ),
        ("The scan came back: damp in the back wall.", ["The scan came back: damp in the back wall"]),
        (
            "My licence expired. My contract runs until 2028.",
            ["User's licence expired", "User's contract runs until 2028"],
        ),
        ("No sugar, day 12.", []),
        ("My landlord put the rent up to 1450.", ["User's landlord put the rent up to 1450"]),
        ("I just got off the phone with the school.", []),
    ],
)
def test_short_tellings_are_read_as_meant(message: str, facts: list[str]) -> None:
    assert [fact.text for fact in extract_facts(message, MONDAY)] == facts


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("I've had mine for three years. I used to think it was overrated.", []),
        ("Here's my docker-compose:\nservices: I run Plex\n", []),
        (
            "I met my sister Ana. She lives in Rome. wedding's on 22 May",
            ["User's sister is called Ana", "User's sister Ana lives in Rome"],
        ),
    ],
)
def test_values_results_and_pasted_settings_are_read_as_meant(message: str, facts: list[str]) -> None:
    found = [fact.text for fact in extract_facts(message, MONDAY)]
    assert [fact for fact in found if "met" not in fact] == facts


def test_a_childs_age_in_weeks_or_months_is_dated() -> None:
    found = [fact.text for fact in extract_facts("our baby is 6 weeks old, my notice period is three months", MONDAY)]
    assert found[0] == "User's baby was 6 weeks old on 23 November 2026"
    assert not any("period was" in text for text in found)


def test_a_day_told_after_a_relative_is_theirs() -> None:
    found = [fact.text for fact in extract_facts("my daughter Mia is 5, birthday's the 23rd of may", MONDAY)]
    assert "User's daughter Mia's birthday is the 23rd of May" in found


def test_whom_a_request_names_is_told_of_after_it() -> None:
    said = "wat is een goed cadeau voor mijn man Bas, hij wordt 40 op 2 april"
    assert "User: mijn man Bas, hij wordt 40 op 2 april" in [fact.text for fact in extract_facts(said, MONDAY)]
