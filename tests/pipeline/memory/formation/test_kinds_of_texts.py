"""Who is meant in copied chats, forums, letters, minutes and forms, and what their lines are."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts

_READ_ON = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("copied", "facts"),
    [
        ("[10/7 2:14 PM] Berg, Ola\nI don't eat pork.", ["Ola Berg doesn't eat pork"]),
        ("Ola, [15.02.26 20:11]\nI live in Rome now\n\nIda, [15.02.26 20:13]\nnice", ["Ola lives in Rome now"]),
        ("Speaker 1 (00:00:04): Hi.\nSpeaker 2 (00:00:09): I live in Bern.", ["Speaker 2 lives in Bern"]),
        ("r/oslo \u2022 Posted by u/pine 6 hours ago\nAny tips?\nI'm 27.", ["Pine is 27"]),
        (
            "by fern \u00bb 21 Mar 2026, 07:48\n\nivy wrote:\nI live in Ulm.\n\nI live in Bonn.",
            ["Ivy lives in Ulm", "Fern lives in Bonn"],
        ),
        ("21:14\tOla\tI live in Rome\n21:15\tIda\tok", ["Ola lives in Rome"]),
        ("Customer: I'm a nurse\nAgent Kelly: I'm an agent in Leeds", ["User is a nurse"]),
        ("Utilisateur : j'habite \u00e0 Lyon\nAssistant : J'habite \u00e0 Rome", ["User: j'habite \u00e0 Lyon"]),
        (
            "De : Ana <a@b.c>\n\u00c0 : Bo\nObjet : Bail\n\nJ'habite \u00e0 Lyon.\n\nCordialement,\nAna",
            ["Ana: J'habite \u00e0 Lyon"],
        ),
        ("Dear Ruth,\n\nI moved to Hull.\n\nLots of love,\nHannah", ["Hannah moved to Hull"]),
    ],
)
def test_what_is_said_is_told_of_whoever_says_it(copied: str, facts: list[str]) -> None:
    assert [fact.text for fact in extract_facts(copied, _READ_ON)] == facts


@pytest.mark.parametrize(
    ("letter", "facts"),
    [
        (
            "Oakfield Primary School\nDear parents,\nWe are closed on Friday 22 May.",
            ["Oakfield Primary School is closed on Friday 22 May"],
        ),
    ],
)
def test_we_of_an_institution_is_not_the_user(letter: str, facts: list[str]) -> None:
    assert [fact.text for fact in extract_facts(letter, _READ_ON)] == facts


def test_fields_of_a_form_are_about_whom_it_names() -> None:
    form = "Patient: Wolf Ahrens DOB 03.11.1948\nAllergies: penicillin\nPrinted on 22.01.2026"

    assert [fact.text for fact in extract_facts(form)] == ["Wolf Ahrens is allergic to penicillin"]


def test_minutes_say_who_has_to_do_what() -> None:
    items = "- [ ] Clive: book the hall by 9 June\n- [x] Sofia to write to Ann\nWater: off"
    minutes = f"# Minutes 8 May\nPresent: Clive, Sofia\n{items}"

    assert [fact.text for fact in extract_facts(minutes)] == ["Clive is to book the hall by 9 June", "Water: off"]


def test_a_letter_to_parents_is_of_who_wrote_it() -> None:
    letter = "Dear parents,\nWinter term ends on 18 December at noon. Lost property will be given away."
    assert [fact.text for fact in extract_facts(letter)] == ["Winter term ends on 18 December at noon"]


def test_lines_that_somebody_broke_are_not_glued_to_the_next() -> None:
    note = "Kitchen\nborn in Accra, live in Leeds now\nfrom now on call me captain\ngate code 4471\nWe have two dogs"

    assert [fact.text for fact in extract_facts(note)] == [
        "User was born in Accra",
        "User lives in Leeds now",
        "User wants to be called captain",
        "User's gate code is 4471",
        "User has two dogs",
    ]


def test_lines_that_a_program_broke_are_one_sentence() -> None:
    wrapped = "I have been living in a small flat near the old harbour of Bergen\nwith my two cats since May 2021."

    assert [fact.text for fact in extract_facts(wrapped)] == [
        "User has been living in a small flat near the old harbour of Bergen with their two cats since May 2021"
    ]


@pytest.mark.parametrize(
    "sentence", ["Od 3. b\u0159ezna pracuji v Brn\u011b.", "Jeg bor i Oslo fra den 3. mars.", "Ich ziehe am 2. Mai um."]
)
def test_the_stop_of_an_ordinal_ends_no_sentence(sentence: str) -> None:
    assert [fact.text for fact in extract_facts(sentence)] == [f"User: {sentence.rstrip('.')}"]


def test_we_of_a_mail_to_a_team_is_the_team() -> None:
    header = "From: Ann Roe <a@kiln.example>\nTo: team@kiln.example\n\n"

    assert [fact.text for fact in extract_facts(f"{header}Hi all,\n\nWe moved to Kafka in May. I live in Ulm.")] == [
        "Ann Roe's team moved to Kafka in May",
        "Ann Roe lives in Ulm",
    ]


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("Please send invoices to Bo, since I'm going on parental leave.", ["User is going on parental leave"]),
        ("my commute takes 40 minutes", ["User's commute takes 40 minutes"]),
        ("My locker is number 12", ["User's locker is number 12"]),
        (
            "Minutes 8 May\nPresent: Ann, Bo\nNext meeting: 13 June",
            ["The team's next meeting is on 13 June"],
        ),
        ("- **GitHub**: you need a key\n- **Files**: choose your folder\n- **Gmail**: your mails", []),
    ],
)
def test_what_is_left_out_is_understood_and_lists_are_no_chats(said: str, facts: list[str]) -> None:
    assert [fact.text for fact in extract_facts(said, _READ_ON)] == facts


def test_a_post_belongs_to_the_name_above_its_day_and_time() -> None:
    text = (
        "campervan_anna\nPosted in: Campervans > Electrics > Today 09:12\nI run a fridge off a 110 Ah battery.\n\n"
        "deepcycle_dave\nToday 09:40\nI went lithium two years ago."
    )
    speakers = [fact.said_by for fact in extract_facts(text, date(2026, 11, 20))]
    assert speakers == ["campervan_anna", "deepcycle_dave"]


def test_a_letter_below_an_address_belongs_to_who_signs_it() -> None:
    text = (
        "12 Elm Close, Hexham\n4 November 2026\n\nDear Mrs Whitfield,\n\n"
        "I have cut the hedge every March since 1996.\n\n"
        "Yours sincerely,\nEdith Barraclough"
    )
    assert [fact.said_by for fact in extract_facts(text)] == ["Edith Barraclough"]


def test_a_ticket_belongs_to_its_reporter() -> None:
    text = "TICKET 48213\nReporter: Lukas Brandl\nAssignee: Noor Haddad\n\nWe use the EU cluster, about 40,000 rows."
    assert [fact.text for fact in extract_facts(text)] == ["Lukas Brandl uses the EU cluster, about 40,000 rows"]


@pytest.mark.parametrize(
    ("said", "memories"),
    [
        ("Verified purchase", []),
        ("Present: Ruth Allen (chair), T. Okafor, Mei Lin", []),
        ("I run a fridge and some LED strips off it.", ["User runs a fridge"]),
        (
            "Ben can't have the eggs so for him I use the flax version",
            ["Ben can't have the eggs", "User uses the flax version"],
        ),
        ("Cleared out the shed, found the old rods", ["User cleared out the shed", "User found the old rods"]),
        ("I have a van that I converted last winter", ["User has a van that User converted in the winter of 2026"]),
        ("Gareth makes the best dal in Wales. They are moving to Cardiff.", ["Gareth makes the best dal in Wales"]),
    ],
)
def test_a_memory_is_a_whole_statement_of_what_is_named(said: str, memories: list[str]) -> None:
    assert [fact.text for fact in extract_facts(said, date(2026, 11, 20))] == memories
