"""Short messages: what people want to be remembered is told from what is of the moment, in any language."""

from datetime import UTC, date, datetime
from typing import Literal

import pytest

from bench.datasets.personal_questions import personal_questions
from bench.datasets.short_messages import short_messages
from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.fact_extractor import ExtractionDelay, RuleBasedExtractor
from pipeline.memory.formation.rule_based_extraction import extract_facts, iter_facts
from pipeline.memory.languages.short_messages import (
    MEMORABLE,
    OF_THE_MOMENT,
    Meanings,
    ShortMessages,
    is_short_message,
    messages_file,
)
from pipeline.models import open_embedder
from pipeline.rows import NamespaceRow

pytestmark = pytest.mark.anyio

KEPT = (
    "Mira spielt Bratsche im Stadtorchester.",
    "Notre chat s'appelle Réglisse",
    "Mi cuñado trabaja de cerrajero en Vigo.",
    "Zosia uczy matematyki w liceum.",
    "Наша соседка держит трёх коз.",
    "祖父は毎朝漢方薬を飲んでいます。",
    "我表哥在苏州开面馆。",
    "خالتي تعمل ممرضة في عمّان",
    "मेरी भाभी दिल्ली में वकील है।",
)
PASSING = (
    "Na dann, schönen Feierabend allerseits",
    "Oh là là, quelle surprise",
    "Traduce esto al inglés y hazlo más formal",
    "Ok, do zobaczenia wieczorem",
    "Вот это да, какой поворот",
    "お疲れさまでした、また来週",
    "行吧那就这么定了",
    "يا سلام، خبر جميل جداً",
    "वाह, क्या बात है",
)


FULL_STOPS = ".\u3002\u0964"


def test_a_very_long_text_is_told_at_once_to_be_no_short_message() -> None:
    assert not is_short_message("." * 1_000_000)


async def test_what_is_to_be_kept_is_told_from_what_is_of_the_moment() -> None:
    learned_from = {text for text, _ in short_messages(locked=False)}
    assert learned_from.isdisjoint(KEPT + PASSING)
    found = await ShortMessages(open_embedder("e5-encoder")).log_odds(KEPT + PASSING)
    assert min(found[: len(KEPT)]) >= MEMORABLE
    assert max(found[len(KEPT) :]) < MEMORABLE
    assert sorted(found[len(KEPT) :])[len(PASSING) // 2] < OF_THE_MOMENT


async def test_exclamations_and_questions_are_left_to_the_rules() -> None:
    messages = ShortMessages(open_embedder("e5-encoder"))
    assert max(await messages.log_odds(["Notre chat s'appelle Réglisse !", "Notre chat s'appelle Réglisse ?"])) <= 0


async def test_of_long_texts_and_by_other_embedders_nothing_is_told() -> None:
    long = "Our cat is called Liquorice, and she sleeps all day. " * 4
    assert await ShortMessages(open_embedder("e5-encoder")).log_odds([long, ""]) == [0, 0]
    assert await ShortMessages(open_embedder("wordllama")).log_odds(["Our cat is called Liquorice."]) == [0]


async def memories_of(*texts: str, document_type: str = "text") -> list[list[str]]:
    at = datetime(2026, 11, 27, tzinfo=UTC)
    jobs = [
        ExtractionJob("alice#0", f"d{number}", 1, at, text, type=document_type) for number, text in enumerate(texts)
    ]
    extractor = RuleBasedExtractor(short_messages=ShortMessages(open_embedder("e5-encoder")))
    found = await extractor.extract(NamespaceRow("alice", 0, ("alice#0",), at, at), jobs)
    return [[fact.text for fact in facts] for facts in found if not isinstance(facts, ExtractionDelay)]


async def test_a_short_message_is_a_memory_though_no_rule_finds_a_fact_in_it() -> None:
    found = await memories_of(*KEPT)
    assert [[memory.removeprefix("User: ") for memory in memories] for memories in found] == [
        [text.rstrip(FULL_STOPS)] for text in KEPT
    ]
    assert await memories_of("Every August the Meyers swap houses with a Scottish family.") == [
        ["Every August the Meyers swap houses with a Scottish family"]
    ]


async def test_an_answer_that_says_nothing_by_itself_is_kept_with_the_question_of_ones_life() -> None:
    asked = (
        "assistant: Schön! Wo wohnen Sie?\nuser: in Fulda, seit 30 Jahren",
        "assistant: ¿Qué medicación tomas?\nuser: sertralina, por la noche",
        "assistant: Czym się pani zajmuje?\nuser: pielęgniarka w Krośnie",
        "assistant: Do you have any hobbies?\nuser: bell ringing and crosswords",
    )
    assert await memories_of(*asked) == [
        ["User: Wo wohnen Sie? in Fulda, seit 30 Jahren"],
        ["User: ¿Qué medicación tomas? sertralina, por la noche"],
        ["User: Czym się pani zajmuje? pielęgniarka w Krośnie"],
        ["User: Do you have any hobbies? bell ringing and crosswords"],
    ]


async def test_what_tells_who_is_talking_is_no_memory() -> None:
    said = "hoi met mij even snel ik heb de baan bij de gemeente gekregen per februari en Sem gaat nu naar de crèche"
    assert await memories_of(said) == [
        ["User: ik heb de baan bij de gemeente gekregen per februari", "User: Sem gaat nu naar de crèche"]
    ]


async def test_an_answer_to_a_question_of_the_task_is_no_memory() -> None:
    asked = (
        "assistant: Welchen Ton soll der Brief haben?\nuser: freundlich, aber bestimmt",
        "assistant: Que veux-tu cuisiner ce soir ?\nuser: des lentilles, 30 min max",
        "assistant: Which line does it crash on?\nuser: line 42 of app.py",
    )
    assert await memories_of(*asked) == [[], [], []]


async def test_questions_that_nothing_was_learned_from_are_told_apart() -> None:
    questions = personal_questions(locked=True)
    assert {text for text, _ in personal_questions(locked=False)}.isdisjoint(text for text, _ in questions)
    meanings = await ShortMessages(open_embedder("e5-encoder")).meanings([], [text for text, _ in questions])
    told = sum(meanings.is_of_life(text) == is_own for text, is_own in questions)
    assert told >= len(questions) * 0.95


async def test_a_fact_read_in_an_english_message_is_no_less_for_what_it_means() -> None:
    texts = ["I'm learning Dutch", "I smoke cigars", "dinner's at seven", "oma woont in Zwolle", "Žiju s Petrem"]
    assert await memories_of(*texts) == [
        ["User is learning Dutch"],
        ["User smokes cigars"],
        ["Dinner is at seven"],
        ["User: oma woont in Zwolle"],
        ["User: Žiju s Petrem"],
    ]


async def test_news_that_no_rule_reads_is_kept_in_the_words_of_its_speaker() -> None:
    news = "corolla finally went to the scrapyard, got myself a used kia"
    assert await memories_of(news, f"if the {news}") == [[f"User: {news}"], []]


async def test_a_question_without_its_mark_is_no_news() -> None:
    said = "ok so i bring home about 3,100 a month driving for Sysco, rent's 980, truck payment 412. whats left"
    assert "User: whats left" not in (await memories_of(said))[0]


async def test_what_is_of_the_moment_is_no_memory() -> None:
    assert await memories_of(*PASSING) == [[]] * len(PASSING)


async def test_what_is_asked_of_every_answer_is_kept_whatever_the_message_means() -> None:
    asked = ["Please always answer in bullet points", "Keep your answers short, please"]
    assert max(await ShortMessages(open_embedder("e5-encoder")).log_odds(asked)) < OF_THE_MOMENT
    assert [len(memories) for memories in await memories_of(*asked)] == [1, 1]


async def test_a_turn_of_a_chat_is_no_message() -> None:
    turn = "Tom: vielen lieben Dank, ich habe mich riesig gefreut"
    rules = [fact.text for fact in extract_facts(turn, date(2026, 11, 27))]
    assert rules
    assert await ShortMessages(open_embedder("e5-encoder")).log_odds([turn]) < [OF_THE_MOMENT]
    assert await memories_of(turn) == [rules]


async def test_a_file_is_no_message() -> None:
    assert await memories_of(*KEPT, document_type="pdf") == [[]] * len(KEPT)


async def test_a_value_of_a_known_kind_is_kept_whatever_the_message_means() -> None:
    assert await memories_of("Kids: Lio (7), Mara (4)") == [["User's kids are Lio (7), Mara (4)"]]


@pytest.mark.parametrize(
    ("text", "is_short"),
    [
        ("Our cat is called Liquorice.", True),
        ("Our cat is called Liquorice. She sleeps all day.", True),
        ("One. Two. Three.", False),
        ("一。二。三。", False),
        ("Cats:\nLiquorice", False),
        (" ", False),
        ("a" * 161, False),
    ],
)
def test_a_short_message_is_a_line_of_two_sentences_at_most(text: str, is_short: bool) -> None:
    assert is_short_message(text) == is_short


@pytest.mark.parametrize("kind", ["e5", "e5-encoder"])
def test_each_default_model_has_a_file(kind: Literal["e5", "e5-encoder"]) -> None:
    assert messages_file(open_embedder(kind).name).is_file(), "write the files: python -m bench.short_messages"


async def test_what_a_request_says_without_a_verb_is_kept_for_its_meaning() -> None:
    requests = (
        "nut allergy here - is pad thai safe usually?",
        "sin mariscos para mí por favor, qué pido en un restaurante gallego",
        "can you plan a salad for six, red onion, something quick?",
        "write a poem about a nurse who lost her dog in Oslo",
    )
    assert await memories_of(*requests) == [["User: nut allergy here"], ["User: sin mariscos para mí"], [], []]


def test_what_introduces_a_quotation_is_no_memory_without_it() -> None:
    said = 'translate to hindi: "My wife and I are vegetarians."'
    assert list(iter_facts(said, meanings=Meanings({said: 3.0}))) == []


@pytest.mark.parametrize(
    ("message", "memory"),
    [
        ("Any ideas for a present? My sister breeds alpacas.", "User's sister breeds alpacas"),
        ("Hast du Tipps für Wien? Meine Schwester wohnt dort seit Mai.", "User: Meine Schwester wohnt dort seit Mai"),
    ],
)
def test_a_sentence_beside_a_request_stays_though_the_whole_message_is_of_the_moment(message: str, memory: str) -> None:
    of_the_moment = Meanings({message: OF_THE_MOMENT - 1})

    facts = [fact.text for fact in iter_facts(message, meanings=of_the_moment)]

    assert facts == [memory]
