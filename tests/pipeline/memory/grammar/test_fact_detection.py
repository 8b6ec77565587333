"""Sentences of chats: what states a fact, and how it reads on its own."""

from datetime import date

import pytest

from pipeline.memory.grammar.fact_detection import SaidSentence, detect_facts
from pipeline.memory.grammar.persons_spoken_of import Discourse
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.grammar.worth.clause_worth import DEFAULT_MIN_WORTH
from pipeline.text.utterance import TEAM

ANN = SpeakerContext("Ann", is_chat=True, participants=frozenset({"Ann", "Robert"}), reference_date=date(2023, 5, 8))
NOTE = SpeakerContext(reference_date=date(2023, 5, 8))
PAGE = SpeakerContext(is_speech=False)
MINUTES = SpeakerContext(TEAM, reference_date=date(2023, 5, 8))


def stated(sentence: str, context: SpeakerContext = ANN, min_worth: float = DEFAULT_MIN_WORTH) -> list[str]:
    (facts,) = detect_facts([SaidSentence(sentence, context, Discourse())], min_worth)
    return [fact.text for fact in facts]


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("I quit smoking 'cause I want to sing.", "Ann quit smoking because Ann wants to sing"),
        ("Been working on a song.", "Ann has been working on a song"),
        ("Just got back from a road trip to Texas!", "Ann just got back from a road trip to Texas"),
        ("Gonna open a studio in June.", "Ann is going to open a studio in June"),
        ("i wanna learn spanish", "Ann wants to learn Spanish"),
        ("Theory test is on 14 October 2024.", "Ann's theory test is on 14 October 2024"),
        ("mam's birthday is on 17 July", "Ann's mam's birthday is on 17 July"),
        ("Thanks, Rob! I live in Rome, Rob.", "Ann lives in Rome"),
        ("Hey Robert, I live in Rome \U0001f600", "Ann lives in Rome"),
        ("Yesterday I took the kids to the museum.", "Ann took the kids to the museum on 7 May 2023"),
        ("Last Sunday we had our first call-out.", "Ann had their first call-out on 7 May 2023"),
        ("Last Fri I finally took my kids to a pottery workshop.",
         "Ann finally took their kids to a pottery workshop on 5 May 2023"),
        ("I'd love to visit Japan.", "Ann would love to visit Japan"),
        ("Our team won the cup.", "Ann's team won the cup"),
        ("They're good- we got another cat named Bailey too.", "Ann got another cat named Bailey too"),
        ("Please call me Annie.", "User wants to be called Annie"),
        ("My wife Kim and I moved to Oslo.", "Ann's wife Kim and Ann moved to Oslo"),
        ("Me and my wife moved to Oslo.", "Ann and their wife moved to Oslo"),
        ("I no longer live in Rome.", "Ann no longer lives in Rome"),
        ("After losing my job, I opened a bakery in Oslo.", "After losing their job, Ann opened a bakery in Oslo"),
    ],
)  # fmt: skip
def test_a_fact_names_its_subject_and_its_day(sentence: str, fact: str) -> None:
    assert stated(sentence, NOTE if fact.startswith("User") else ANN) == [fact]


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("I'm 29", "User is 29"),
        ("I'm Priya", "User is Priya"),
        ("i relocated to Riga last week lol", "User relocated to Riga in the week of 1 May 2023"),
        ("Rasmus and I broke up :(", "Rasmus and User broke up"),
        ("ok small life update: i relocated to Riga", "User relocated to Riga"),
        ("Got the paralegal job!!!", "User got the paralegal job"),
        ("oh wait the wifi password is bluebird77", "The wifi password is bluebird77"),
        ("Actually no, my flight is on the 15th, I misread it", "User's flight is on the 15th"),
        ("Please always answer in bullet points", "User asks: always answer in bullet points"),
        ("always keep it short with me, i dont read long stuff", "User asks: always keep it short with me"),
        ("Please could you use larger paragraphs and no emojis", "User asks: use larger paragraphs and no emojis"),
        ("Don't use emojis in your answers.", "User asks: don't use emojis in your answers"),
        ("Our team now has 11 people.", "User's team now has 11 people"),
    ],
)
def test_messy_messages_make_plain_memories(sentence: str, fact: str) -> None:
    assert stated(sentence, NOTE) == [fact]


@pytest.mark.parametrize(
    "sentence",
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
        "Here's a photo of my dog at the beach.",
        "Looks like we need a break.",
        "Here's a pic!",
        "That way I can rest.",
        "I have to say, it was hard.",
        "They really like that Tim likes it.",
        "It was stormy last week.",
        "If I drove a Porsche I'd be broke.",
        "At work I feel like I'm 80.",
        "Maybe I should move to Paris.",
        "Do I live in Madrid?",
        "Been a busy week since we talked.",
        "We all have our different paths.",
        "I'm going for my dreams!",
    ],
)
def test_moods_courtesies_doubts_and_references_state_nothing(sentence: str) -> None:
    assert stated(sentence) == []


def test_a_sentence_is_split_where_each_part_has_a_subject() -> None:
    assert stated("I adopted two cats, so I need a sitter in June, but it's hard.") == [
        "Ann adopted two cats",
        "Ann needs a sitter in June",
    ]
    assert stated("Yesterday I took my kids swimming - it was so cool.") == [
        "Ann took their kids swimming on 7 May 2023"
    ]
    assert stated("I like tea, but maybe I prefer milk.") == ["Ann likes tea"]
    assert stated("I used to drive a Golf, now I drive a Tesla", NOTE) == [
        "User used to drive a Golf",
        "User drives a Tesla now",
    ]


def test_relative_dates_are_resolved_in_messages_only() -> None:
    came_in = SpeakerContext(reference_date=date(2023, 5, 8), is_date_assumed=True)
    assert stated("I moved to Rome yesterday.", came_in) == ["User moved to Rome on 7 May 2023"]
    assert stated("Ann moved to Rome yesterday.", came_in) == ["Ann moved to Rome yesterday"]


def test_a_text_about_things_says_nothing_of_its_reader() -> None:
    assert stated("Acme's CEO is Jane Smith.", PAGE) == ["Acme's CEO is Jane Smith"]
    assert stated("I live in Rome.", PAGE) == []
    assert stated("My CEO is Jane Smith.", PAGE) == []


def test_a_score_is_explained_and_the_threshold_decides() -> None:
    ((fact,),) = detect_facts([SaidSentence("I live in Rome.", ANN, Discourse())])
    assert fact.worth.explanation.startswith("5.0: live +2, about the speaker +1, names +1, a plain fact +1")
    assert stated("I live in Rome.", min_worth=5.5) == []


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("Four, the twins are 6.", ["User's twins are 6"]),
        ("Make it 100, my hours got cut at the bakery.", ["User's hours got cut at the bakery"]),
        ("Quick heads-up: my daughter has her school play on Tuesday.",
         ["User's daughter has her school play on Tuesday"]),
        ("Milo is allergic to peanuts though and has an EpiPen.",
         ["Milo is allergic to peanuts", "Milo has an EpiPen"]),
        ("I prefer async/await over Combine.", ["User prefers async/await over Combine"]),
        ("also remind me: next blood test is January 14", ["User's next blood test is January 14"]),
        ("doctor put me on 50mcg levothyroxine", ["User is now on 50mcg levothyroxine"]),
        ("My co-founder Ines handles the backend.", ["User's co-founder Ines handles the backend"]),
        ("My ex will pick him up.", []),
        ("Your entrance is B. Please do not eat after midnight.", []),
        ("btw switch to German please", ["User asks: switch to German"]),
        ("My wife can't stand cilantro.", ["User's wife can't stand cilantro"]),
        ("Signed up for the pottery course, starts in January.",
         ["User signed up for the pottery course, starts in January"]),
    ],
)  # fmt: skip
def test_what_stands_beside_a_clause_is_no_part_of_it(sentence: str, facts: list[str]) -> None:
    assert stated(sentence, NOTE) == facts


def test_a_noun_read_as_a_verb_keeps_what_belongs_to_it() -> None:
    assert stated("Postgres upgrade to 17 is postponed to January because of the audit.", NOTE) == [
        "Postgres upgrade to 17 is postponed to January because of the audit"
    ]


def test_whose_place_somebody_takes_is_named_or_nothing_is_kept() -> None:
    assert stated("M. Duarte was elected in her place.", PAGE) == []


@pytest.mark.parametrize(
    "line",
    [
        "Bed 3: Mrs Quill, 88, confused at night, fall risk",
        "Plot 17 given up by the Morrisons, next on the list is Dawit",
    ],
)
def test_minutes_keep_what_has_no_verb_but_says_a_figure_or_name_of_a_thing(line: str) -> None:
    assert stated(f"{line}.", MINUTES) == [line]


@pytest.mark.parametrize(
    "line", ["Present: Joan, Clive, Bashir", "Handover done", "Quick one from me at 9", "Office hours in Room 118"]
)
def test_minutes_keep_no_frame_no_heading_and_nothing_vague(line: str) -> None:
    assert stated(f"{line}.", MINUTES) == []


def test_the_same_day_is_the_only_one_named_before() -> None:
    discourse = Discourse()
    said = [
        SaidSentence(sentence, NOTE, discourse)
        for sentence in ("I have an interview at Siemens on Thursday.", "My dog Biscuit has surgery the same day.")
    ]
    assert [fact.text for facts in detect_facts(said) for fact in facts] == [
        "User has an interview at Siemens on 11 May 2023",
        "User's dog Biscuit has surgery on 11 May 2023",
    ]


def test_a_reason_for_a_wish_about_answers_is_left_off() -> None:
    assert stated("oh and keep answers short, i'm reading this on my phone", NOTE) == ["User asks: keep answers short"]


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("und ich hab die Wohnung bekommen!!", "Ann: ich hab die Wohnung bekommen"),
        ("bin jetzt vegan \u00fcbrigens", "Ann: bin jetzt vegan \u00fcbrigens"),
        ("mais j'habite \u00e0 Lyon maintenant", "Ann: j'habite \u00e0 Lyon maintenant"),
        ("bueno, vivo en Sevilla desde mayo", "Ann: vivo en Sevilla desde mayo"),
    ],
)
def test_other_languages_lose_the_words_that_join_a_sentence_to_others(sentence: str, fact: str) -> None:
    assert stated(sentence) == [fact]
