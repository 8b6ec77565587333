"""Sentences of chats: what states a fact, and how it reads on its own."""

from datetime import date

import pytest

from pipeline.memory.facts import Fact, continued, facts
from pipeline.memory.voice import Voice

ANN = Voice("Ann", chat=True, names=frozenset({"Ann", "Robert"}), today=date(2023, 5, 8))


def stated(sentence: str, voice: Voice = ANN) -> list[str]:
    return [fact.text for fact in facts(sentence, voice)]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Been working on a song.", "Ann has been working on a song"),
        ("Just got back from a road trip!", "Ann just got back from a road trip"),
        ("Gonna continue my studies.", "Ann is going to continue their studies"),
        ("Researching adoption agencies.", "Ann is researching adoption agencies"),
        ("i wanna learn spanish", "Ann wants to learn spanish"),
        ("Here's a photo of my dog at the beach.", "Ann shared a photo of their dog at the beach"),
        ("Thanks, Rob! I live in Rome, Rob.", "Ann lives in Rome"),
        ("Hey Robert, I live in Rome \U0001f600", "Ann lives in Rome"),
        ("Painting's a fun way to express my feelings.", "Painting's a fun way to express Ann's feelings"),
        ("The support group has made me feel accepted.", "The support group has made Ann feel accepted"),
        ("When I was younger, we had a farm.", "When Ann was younger, Ann and others had a farm"),
        ("Yesterday I took the kids to the museum.", "Ann took the kids to the museum on 7 May 2023"),
        ("Last Sunday we had our first call-out.", "Ann and others had their first call-out on 7 May 2023"),
        ("I'd love to visit Japan.", "Ann would love to visit Japan"),
        ("I couldn't attend the meeting.", "Ann couldn't attend the meeting"),
        ("Our team won the cup.", "Ann's team won the cup"),
        ("Another script that I wrote was shown.", "Another script that Ann wrote was shown"),
        ("Since I'm allergic I use oat milk.", "Since Ann is allergic Ann uses oat milk"),
        ("Since I lost my job, things have been tough.", "Since Ann lost Ann's job, things have been tough"),
        ("Creativity and family keep me at peace.", "Creativity and family keep Ann at peace"),
        ("They're good- we got another cat.", "Ann and others got another cat"),
        ("We'd go through the fields.", "Ann and others would go through the fields"),
        ("Dancing helps me de-stress.", "Dancing helps Ann de-stress"),
        ("Please call me Annie.", "Ann wants to be called Annie"),
        ("Me and my wife moved to Oslo.", "Ann and their wife moved to Oslo"),
        ("I no longer live in Rome.", "Ann no longer lives in Rome"),
        (
            "I still no longer eat meat and no longer work at Acme.",
            "Ann still no longer eats meat and no longer works at Acme",
        ),
    ],
)
def test_what_chats_leave_out_is_completed(said: str, fact: str) -> None:
    assert stated(said) == [fact]


@pytest.mark.parametrize(
    "said",
    [
        "I'm so excited!",
        "Glad you like it.",
        "I love how easy it is.",
        "I can't wait to see it.",
        "Keep pushing, we can do anything together!",
        "I won't give up.",
        "I'll let you know.",
        "I'm off to bed.",
        "We love it.",
        "I painted it after the trip.",
        "That would be fun for me.",
        "I hope it goes well.",
        "What a great day for us!",
        "I had a similar experience.",
        "For me, it was a big step.",
        "Talking and working together helps.",
        "[a photo of my dog]",
        "Just something nice for a change.",
        "Looks like we need a break.",
        "Here's a pic!",
        "That way I can rest.",
        "I have to say, it was hard.",
    ],
)
def test_moods_courtesies_cheers_and_what_points_elsewhere_state_nothing(said: str) -> None:
    assert stated(said) == []


def test_a_sentence_is_cut_where_each_part_has_its_subject() -> None:
    assert stated("I started yoga, so I'm calmer now, but it's hard.") == [
        "Ann started yoga",
        "Ann is calmer now",
    ]
    assert stated("Yesterday I took my kids swimming - it was so cool.") == [
        "Ann took their kids swimming on 7 May 2023"
    ]
    assert stated("I like tea, but maybe I prefer milk.") == ["Ann likes tea"]


def test_it_is_understood_together_with_the_fact_before() -> None:
    yoga = Fact("Ann practises yoga", is_static=True)
    more = continued("It really helps me relax.", ANN, yoga)
    assert more == Fact("Ann practises yoga; it really helps Ann relax", is_static=True, continues=True)
    assert continued("It was great.", ANN, yoga) is None
    assert continued("Its colour suits me.", ANN, yoga) is None
    assert continued("This helps me, does it?", ANN, yoga) is None


def test_a_text_of_unknown_age_keeps_its_yesterday_and_a_message_does_not() -> None:
    came_in = Voice(today=date(2023, 5, 8), assumed=True)
    assert stated("I moved to Rome yesterday.", came_in) == ["User moved to Rome on 7 May 2023"]
    assert stated("Ann moved to Rome yesterday.", came_in) == ["Ann moved to Rome yesterday"]
