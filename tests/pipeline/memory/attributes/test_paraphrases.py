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
    ],
)
def test_wishes_the_past_and_other_people_retire_nothing(first: str, second: str) -> None:
    assert not _retires(second, first)
