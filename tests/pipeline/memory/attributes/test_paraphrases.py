"""Updates in the words that people use, and remarks that leave the earlier message true."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.versioning.fact_comparison import find_contradiction


def _retires(second: str, first: str) -> bool:
    return any(
        find_contradiction(new.attributes, old.attributes) is not None
        for new in extract_facts(second)
        for old in extract_facts(first)
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I smoke", "I also quit smoking"),
        ("I live in Oslo", "we also moved to Rome"),
        ("i'm based out of Tallinn rn", "ok small life update: i relocated to Riga"),
        ("I'm living in Ghent these days, tiny studio near the canal", "we're in Antwerp since last weekend!!"),
        ("I'm a barista at Costa", "got the paralegal job!!!"),
        ("I'm dating a guy called Rasmus", "Rasmus and I broke up :("),
        ("I'm married to Paolo", "so Paolo and I got divorced. it's official"),
        ("I've got 3 cats", "adopted another one so I have 4 cats now haha"),
        ("I'm 41", "turned 42 yesterday, feeling ancient"),
        ("I love horror movies", "I can't stand horror movies anymore, too much stress"),
        ("My car is in the garage", "Got my car back from the garage today"),
        ("My favorite team is Ajax", "actually my favorite team is PSV now"),
    ],
)
def test_a_messy_update_retires_the_earlier_message(first: str, second: str) -> None:
    assert _retires(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I live in Leeds", "visiting Bristol this weekend"),
        ("I live in Turin", "my sister moved to Genoa"),
        ("I live in Oslo", "I wish I lived in Rome"),
        ("I live in Oslo", "lol imagine if I moved to Texas"),
        ("I live in Oslo", "I lived in Bergen as a kid"),
        ("I work at Lidl", "I used to work at Aldi"),
        ("I work at KPMG", "might apply at Deloitte someday"),
        ("I'm married to Paolo", "my cousin got divorced"),
        ("I'm 41", "my husband turned 42"),
        ("I'm a nurse", 'he said "I\'m a doctor"'),
        ("I have a cat named Momo", "my friend's cat died"),
        ("I love black coffee", "I also love green tea"),
        ("I work at Acme", "I also work at Fennel now"),
        ("I work at Acme.", "I'm staying at Hilton."),
        ("I work at Acme.", "I'm eating lunch at Subway."),
        ("I work as a nurse.", "I'm happy at Acme."),
        ("I work at Globex.", "I'm no longer at Acme."),
        ("I want to book a flight to Tokyo.", "I booked a flight to Rome."),
        ("I take a course on Python.", "I finished a course on pottery."),
        ("I want to finish the book.", "I bought the book."),
        ("I'm dating Ana.", "I dropped Ana at school."),
        ("I have kids.", "I had to put the kids to bed."),
        ("The project is called Falcon", "they have a project, it's called Heron"),
        ("The project is called Falcon", "maybe we rename the project, it's called Heron"),
        ("I have two kids", "my sister has three kids now"),
        ("The meeting is at 10", "Ana's meeting got pushed to 11:30"),
    ],
)
def test_wishes_the_past_and_other_people_retire_nothing(first: str, second: str) -> None:
    assert not _retires(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My rent is 820 euros", "ugh rent went up to 910 euros"),
        ("I have two kids", "our third was born this morning!! three kids now"),
        ("I have 12 chickens", "fox got in, only 7 chickens left :("),
        ("I earn 48k", "got a raise, I'm on 53k now"),
        ("The meeting is at 10", "meeting got pushed to 11:30"),
        ("My brother is single", "my brother got engaged to Alice"),
        ("The project is called Falcon", "we renamed the project, it's called Heron now"),
        ("My 5k PB is 27:45", "New 5k PB today: 26:10"),
        ("My locker is number 12", "I was wrong, my locker is number 21"),
        ("My appointment is on Tuesday", "they moved my appointment to Thursday"),
        ("my editor is Sublime", "switched my editor to Zed and never looked back"),
        ("Our office is in Soho", "heads up: the office moved to Shoreditch last week"),
        ("I take metformin", "my doctor took me off metformin"),
        ("I play the violin in an orchestra", "I left the orchestra in spring"),
        ("I'm on parental leave", "back from parental leave since monday"),
        ("I have a boyfriend called Matteo", "Matteo and I split up in October"),
        ("I wanna get a tattoo", "got the tattoo!! a tiny fern"),
        ("I'm applying to TU Delft", "got into TU Delft!!!!"),
        ("I study law in Bonn", "changed majors, I study psychology now"),
        ("I'm junior dev at Klarna", "got promoted to senior dev at Klarna today"),
        ("Bo lives in Turin and Ana lives in Rome", "Bo moved to Milan"),
        ("I smoke", "haven't smoked since August"),
        ("I work at Acme.", "I'm no longer at Acme."),
        ("I want to book a flight to Tokyo.", "I booked a flight to Tokyo."),
        ("I want to buy a house.", "I bought a house in Lisbon."),
        ("I take a course on Python.", "I finished the course."),
        ("I have a dog.", "I had to put the dog down."),
        ("I'm learning Italian", "dropped Italian, doing Portuguese instead"),
        ("I live in a small flat in Leeds", "we moved out to a little house in Whitby over the weekend"),
        ("I'm on keto", "no longer on keto"),
        ("budget is 20k", "budget's 30k now"),
    ],
)
def test_what_a_state_is_about_can_end_and_a_plan_be_fulfilled(first: str, second: str) -> None:
    assert _retires(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My 10k PB is 44:10", "ran a 10k in 47:30 today, so hot"),
        ("My car costs 200 a month", "my phone costs 30 a month"),
        ("I want to visit Nepal", "I visited Bhutan in 2018"),
        ("I plan to adopt a cat", "my landlord adopted a cat lol"),
        ("I'm writing a novel", "my sister finished her novel"),
        ("I take vitamin D", "I don't take iron"),
        ("I have a dog named Ozzy", "my phone died in the middle of a call"),
        ("I own a house", "my uncle sold his house"),
        ("I drive a Skoda", "rented a Fiat in Sicily last week"),
        ("I live in a small flat in Leeds", "we went to a little house in Whitby over the weekend"),
        ("budget is 20k", "the marketing budget is 5k"),
    ],
)
def test_the_end_of_something_else_ends_no_state(first: str, second: str) -> None:
    assert not _retires(second, first)
