"""Temporal expressions become dates of the calendar, seen from the day they were said."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.temporal_expressions import DateRange, resolve_dates

MONDAY = date(2023, 5, 8)
EXPRESSIONS = st.sampled_from(
    ["yesterday", "today", "tonight", "tomorrow", "last night", "last Friday", "this weekend", "next month",
     "last year", "two years ago", "a week ago", "next June", "last summer", "the day before yesterday",
     "this past Tuesday", "on Friday", "in May", "999 months ago", "last weekend"]
)  # fmt: skip


def meant(text: str, today: date | None = MONDAY) -> tuple[str, list[str]]:
    found = resolve_dates(text, today)
    return found.text, [when.iso8601 for when in found.date_ranges]


@pytest.mark.parametrize(
    ("said", "text", "time"),
    [
        ("I ran yesterday.", "I ran on 7 May 2023.", "2023-05-07"),
        ("Yesterday I ran.", "On 7 May 2023 I ran.", "2023-05-07"),
        ("I saw her last Friday.", "I saw her on 5 May 2023.", "2023-05-05"),
        ("I saw her last Monday.", "I saw her on 1 May 2023.", "2023-05-01"),
        ("I'm free this Friday.", "I'm free on 12 May 2023.", "2023-05-12"),
        ("I move next Friday.", "I move on 19 May 2023.", "2023-05-19"),
        ("I left two days ago.", "I left on 6 May 2023.", "2023-05-06"),
        ("I moved two years ago.", "I moved in 2021.", "2021"),
        ("I moved a month ago.", "I moved in April 2023.", "2023-04"),
        ("It was last week.", "It was in the week of 1 May 2023.", "2023-05-01/2023-05-07"),
        (
            "We went last weekend.",
            "We went on the weekend of 6 May 2023.",
            "2023-05-06/2023-05-07",
        ),
        ("We went last summer.", "We went in the summer of 2022.", "2022"),
        ("I start next month.", "I start in June 2023.", "2023-06"),
        ("I've lived here since last year.", "I've lived here since 2022.", "2022"),
        ("I moved in two weeks ago.", "I moved in around 24 April 2023.", "2023-04-24/2023-04-30"),
        ("I won't be there until Thursday.", "I won't be there until 11 May 2023.", "2023-05-11"),
        ("I'm back as of today.", "I'm back as of 8 May 2023.", "2023-05-08"),
        ("I'm away until tomorrow.", "I'm away until 9 May 2023.", "2023-05-09"),
        ("I have an exam on Friday.", "I have an exam on 12 May 2023.", "2023-05-12"),
        ("I met Ann on Friday.", "I met Ann on 5 May 2023.", "2023-05-05"),
        ("I'm on keto since Friday.", "I'm on keto since 5 May 2023.", "2023-05-05"),
        ("The dentist moved to Friday.", "The dentist moved to 12 May 2023.", "2023-05-12"),
        ("I will leave in ten days.", "I will leave on 18 May 2023.", "2023-05-18"),
        ("I start on Monday next week.", "I start on 15 May 2023.", "2023-05-15"),
        ("I start Monday next week.", "I start on 15 May 2023.", "2023-05-15"),
        ("I marry in June next year.", "I marry in June 2024.", "2024-06"),
        ("My parents are coming Sunday.", "My parents are coming on 14 May 2023.", "2023-05-14"),
        ("The plumber's coming Friday.", "The plumber's coming on 12 May 2023.", "2023-05-12"),
        ("I have an exam on Monday.", "I have an exam on 15 May 2023.", "2023-05-15"),
        ("We left after last night's party.", "We left after the night of 7 May 2023's party.", "2023-05-07"),
        ("Tomorrow's exam is hard.", "The 9 May 2023 exam is hard.", "2023-05-09"),
    ],
)
def test_what_is_relative_becomes_a_date(said: str, text: str, time: str) -> None:
    assert meant(said) == (text, [time])


@pytest.mark.parametrize(
    ("said", "time"),
    [
        ("Born on 5 May 1990.", "1990-05-05"),
        ("Born on May 5th, 1990.", "1990-05-05"),
        ("Due 2024-02-29.", "2024-02-29"),
        ("It was in June.", "2023-06"),
        ("It was in December.", "2022-12"),
        ("I moved in 2016.", "2016"),
        ("It expires in April.", "2024-04"),
        ("It expired in April.", "2023-04"),
        ("I will be out until 3 March.", "2024-03-03"),
    ],
)
def test_what_names_its_date_stays_and_is_known(said: str, time: str) -> None:
    assert meant(said) == (said, [time])


@pytest.mark.parametrize(
    "said",
    [
        "I ran over the last year.",
        "I learnt it in two weeks and went home.",
        "I may go this may.",
        "My birthday is on May 5.",
        "I swim every Friday.",
        "Meetings are on Fridays.",
        "We start on Thursday evenings.",
        "Sue has got an operation on Friday.",
        "He is todayish.",
        "Due 2023-02-31.",
    ],
)
def test_durations_what_returns_and_what_only_looks_like_it_have_no_date(said: str) -> None:
    assert meant(said) == (said, [])


def test_without_a_day_only_what_names_its_year_is_known() -> None:
    assert meant("I left yesterday, in June.", None) == ("I left yesterday, in June.", [])
    assert meant("I left in June 2020.", None) == ("I left in June 2020.", ["2020-06"])


@settings(max_examples=50)
@given(EXPRESSIONS, st.dates(), st.sampled_from(["I went {}.", "{} I will go.", "Since {} it is so."]))
def test_what_was_resolved_means_the_same_on_any_later_day(said: str, today: date, form: str) -> None:
    once = resolve_dates(form.format(said), today)
    # At either end of the calendar more may be known a year later.
    later = today + timedelta(days=400) if 100 < today.year < 9990 else today
    assert resolve_dates(once.text, later).text == once.text
    assert all(when.first <= when.last for when in once.date_ranges)


@given(st.dates())
def test_a_time_is_written_as_it_is(day: date) -> None:
    assert DateRange(day, day).iso8601 == day.isoformat()
    assert DateRange(date(day.year, 1, 1), date(day.year, 12, 31)).iso8601 == f"{day.year:04}"
