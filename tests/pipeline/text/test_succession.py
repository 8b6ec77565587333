"""Succession of statements: a newer one comes first only where it may hold instead of the older one."""

import pytest

from pipeline.text.succession import may_succeed, tells_of_change


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I'm living in Ghent these days", "so yeah we finally packed up and we're in Antwerp since last weekend!!"),
        ("My appointment is on Tuesday", "they moved my appointment to Thursday"),
        ("My rent is 820 euros", "ugh rent went up to 910 euros"),
        ("I'm dating Marlene", "Marlene dumped me last night"),
        ("my editor is Sublime", "switched my editor to Zed"),
        ("My roommate is Kelly", "Kelly moved out, my roommate is Blessing now"),
        ("User lives in Rome", "User moved to Oslo in May 2026"),
        ("User plays left wing for Rovers", "coach changed the lineup, I'm the keeper now"),
        ("our nanny is Rosa", "Rosa moved back to Peru"),
        ("My sister works at IKEA", "my sister quit IKEA and joined H&M"),
        ("Ich wohne in Berlin", "Meine Schwester wohnt in Rom"),
        ("My doctor's appointment is on Tuesday", "the doctor's appointment is on Friday now"),
        ("My wedding is in June", "the wedding's been moved to May"),
        ("I work at a school", "I'm in school for nursing now"),
    ],
)
def test_a_newer_statement_about_the_same_may_hold_instead(older: str, newer: str) -> None:
    assert may_succeed(newer, older)


def test_what_names_what_it_ends_follows_that() -> None:
    assert may_succeed("we switched from REST to gRPC last month", "our services talk REST to each other")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We live in Graz", "my parents live in Linz"),
        ("I have a cat", "the neighbours' cat died"),
        ("I own a flat in Turin", "sold my parents' flat in Genoa"),
        ("My brother lives in Leeds", "my other brother moved to Hull"),
        ("I live in Dundee", "lived in Perth until I was 12"),
        ("I don't smoke", "I smoked 20 a day back in college"),
        ("My boss is Renate", "my boss's boss is Henrik"),
        ("My boss is Renate", "Omar's boss is Liv"),
        ("I live in Turin", "I'd love to live in Lisbon someday"),
        ("I live in Ostrava", "I grew up in Brno"),
        ("I live in Leeds", "visiting my aunt in York this weekend"),
        ("I work at Maersk", "maybe I should apply at DHL"),
        ("I love jazz", "I love techno too"),
        ("My exam is on the 4th", "my friend's exam is on the 6th"),
        ("User's phone number is 555", "User's work number is 777"),
        ("I work at Bayer", "recruiter from BASF called me again, not interested"),
        ("Anna works at Bosch", "Hanna moved to a job at Bayer"),
        ("I go to the gym at 6 am", "the gym was closed this morning"),
        ("I'm on the night train to Vienna", "the night train to Rome is sold out"),
        ("Postgres is our only database", "we switched from REST to gRPC last month"),
        ("I work at Lidl", "dreamt I got hired by NASA last night"),
    ],
)
def test_what_is_said_of_others_or_only_wished_does_not(older: str, newer: str) -> None:
    assert not may_succeed(newer, older)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Moved back to Omaha in the end", True),
        ("they pushed it to friday 10am", True),
        ("We live in Omaha", False),
        ("Ich bin nach Erfurt gezogen", True),
        ("Ich wohne in Erfurt", False),
    ],
)
def test_a_change_is_told_by_what_a_statement_says(text: str, told: bool) -> None:
    assert tells_of_change(text) == told
