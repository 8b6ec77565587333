"""What others did to the speaker, what notes of a case say of whom they are about, and decisions of meetings."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts


def _memories(text: str) -> list[str]:
    return [fact.text for fact in extract_facts(text, date(2026, 11, 29))]


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("They gave me the night manager position!", "User was given the night manager position"),
        ("they laid me off in May", "User was laid off in May"),
        ("Sabine said they're sending me to Gothenburg in May", "User is being sent to Gothenburg in May"),
        ("new phone number 0151 2233 4455.", "User's phone number is now 0151 2233 4455"),
        ("Won't be driving any more", "User won't be driving any more"),
        ("they've diagnosed me with asthma", "User has been diagnosed with asthma"),
    ],
)
def test_what_nobody_in_particular_did_to_the_speaker(text: str, memory: str) -> None:
    assert _memories(text) == [memory]


def test_what_turns_out_is_told_by_itself() -> None:
    said = "my hands are a mess, turns out I've got eczema and the doc put me on a steroid cream."
    assert _memories(said)[1:] == ["User has got eczema", "User is now on a steroid cream"]


@pytest.mark.parametrize("text", ["they told me my knee is fine", "they gave me a funny look"])
def test_what_others_said_or_how_they_looked_is_nothing_done_to_the_speaker(text: str) -> None:
    assert not [memory for memory in _memories(text) if memory.startswith("User was")]


def test_notes_of_a_case_are_about_whom_they_name() -> None:
    notes = "Visited client Dana Brook today. Lives alone since May. Daughter visits on Sundays. Walks with a frame."
    assert _memories(notes) == [
        "Dana Brook lives alone since May",
        "Dana Brook's daughter visits on Sundays",
        "Dana Brook walks with a frame",
    ]


def test_notes_without_subjects_are_about_the_only_person_that_they_name() -> None:
    notes = (
        "Home visit to Mr Harold Lyle (82). Lives alone since February. Takes apixaban daily. Daughter lives in Leeds."
    )
    assert _memories(notes) == [
        "Mr Harold Lyle lives alone since February",
        "Mr Harold Lyle takes apixaban daily",
        "Mr Harold Lyle's daughter lives in Leeds",
    ]
    assert _memories("Rooms of Mr Lyle and Mrs Roy. Lives alone. Takes apixaban twice daily.") == []


def test_whoever_speaks_of_themselves_writes_no_notes_of_a_case() -> None:
    named, met = _memories("I met my client Dana Brook.")
    assert (named, met) == ("User's client is called Dana Brook", "User met their client Dana Brook")


def test_minutes_keep_decisions_without_what_an_item_is_about() -> None:
    minutes = (
        "Minutes, garden club, 18 November 2026\n\n"
        "1. Water: The mains supply will be turned off on 1 December. L. Brandt to put up notices.\n"
        "2. Waiting list: It was agreed to split plots 12 and 19 into halves.\n"
    )
    assert _memories(minutes) == [
        "The mains supply will be turned off on 1 December",
        "L. Brandt is to put up notices",
        "The team agreed to split plots 12 and 19 into halves",
    ]


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("I have moved to a new number: 06 55 12 98 40.", "User has moved to a new number: 06 55 12 98 40"),
        ("I have three kids: Ana, Luis and Marta.", "User has three kids: Ana, Luis and Marta"),
        ("We have two dogs: a pug and a beagle", "User has two dogs: a pug and a beagle"),
        ("I have one rule: never buy on Mondays", "User has one rule"),
        ("My new address is: 4 Quay Street, Leith.", "User's new address is 4 Quay Street, Leith"),
    ],
)
def test_names_and_numbers_after_a_colon_belong_to_the_statement(text: str, memory: str) -> None:
    assert _memories(text) == [memory]


@pytest.mark.parametrize(
    ("text", "memories"),
    [
        ("my new bike will be ready on Friday", ["User's new bike will be ready on 4 December 2026"]),
        ("I go to the gym three times a week, which is great", ["User goes to the gym three times a week"]),
        ("vivo en Lisboa jajaja", ["User: vivo en Lisboa"]),
        ("Priya: how does 40 feel\nLeo: like 39 but with more back pain\nPriya: haha\nLeo: yes", []),
    ],
)
def test_remarks_and_laughter_are_left_off(text: str, memories: list[str]) -> None:
    assert _memories(text) == memories


@pytest.mark.parametrize(
    ("text", "memories"),
    [
        ("Going to walk the Camino, maybe with dad if his hip allows.", ["User is going to walk the Camino"]),
        ("maybe 30 min on the train, I commute from Kew to London.", ["User commutes from Kew to London"]),
        ("I'll maybe move to Rome", []),
        ("I live in Rome or maybe Milan", []),
        ("We've known each other since we were 6", []),
        ("we have another dog now", ["User has another dog now"]),
    ],
)
def test_a_doubted_part_is_left_off_and_a_doubted_statement_forms_nothing(text: str, memories: list[str]) -> None:
    assert _memories(text) == memories


@pytest.mark.parametrize(
    ("text", "memories"),
    [
        (
            "From: Rosalind\nTo: Ellie\nSubject: Hi\n\nDarling Ellie,\nwe sold the boat in May.",
            ["Rosalind sold the boat in May"],
        ),
        (
            "Meeting with landlord 24/11: Mr. Castellano replaces the windows in spring.",
            ["Mr. Castellano replaces the windows in spring"],
        ),
        (
            "Retro notes sprint 31 (Ioana, Bence)\nDecision: we drop support for IE in January",
            ["The team drops support for IE in January"],
        ),
        ("Just a heads up that we're moving to Rome in May", ["User is moving to Rome in May"]),
    ],
)
def test_salutations_and_headings_form_nothing(text: str, memories: list[str]) -> None:
    assert _memories(text) == memories


def test_who_writes_to_parents_is_a_group() -> None:
    mail = "From: Amara Nwosu\nTo: Class 4b\nSubject: Trip\n\nDear parents,\nWe leave at 8:15 from the main gate."
    assert _memories(mail) == ["Amara Nwosu's team leaves at 8:15 from the main gate"]


def test_a_sentence_that_shows_no_language_is_in_that_of_its_text() -> None:
    said = "Hej! Vi har äntligen köpt huset i Lund, vi flyttar in 1 mars. Jag jobbar kvar på Ericsson."
    assert _memories(said)[0] == "User: Vi har äntligen köpt huset i Lund, vi flyttar in 1 mars"
