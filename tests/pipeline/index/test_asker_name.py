"""The asker's own name: which statements say it, and which questions mean the asker by it."""

import pytest

from pipeline.index.asker_name import asked_by_name, introduced_name


@pytest.mark.parametrize(
    ("memory", "name"),
    [
        ("User's name is Alice", "Alice"),
        ("User's full name is Alice Marie Smith", "Alice Marie Smith"),
        ("User's name is Dr. Alice Smith", "Alice Smith"),
        ("User is Bob", "Bob"),
        ("User is Bob from accounting", "Bob"),
        ("User wants to be called Al", "Al"),
        ("User: Je m'appelle Claire et j'habite à Lyon", "Claire"),
        ("User: Меня зовут Иван", "Иван"),
        ("User: 私の名前は田中です", "田中"),
        ("User: 我叫李明", "李明"),
    ],
)
def test_a_memory_says_the_name_of_the_user(memory: str, name: str) -> None:
    assert introduced_name(memory) == name


@pytest.mark.parametrize(
    "memory",
    [
        "User is Danish",
        "User is tired",
        "User is Head of Sales",
        "User's dog is called Rex",
        "Alice lives in Rome",
        "User: Ich heiße jeden willkommen",
        "User's name is Alice and " + "so on " * 20,
    ],
)
def test_other_memories_say_no_name(memory: str) -> None:
    assert introduced_name(memory) is None


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Where does Alice live?", "Where does I live?"),
        ("where does alice live", "where does I live"),
        ("Alice Miller's address", "my address"),
        ("Where does Alice\u2019s sister live?", "Where does my sister live?"),
        ("Wo wohnt Alice?", "Wo wohnt I?"),
    ],
)
def test_a_question_that_names_the_asker_is_asked_as_they_would(question: str, asked: str) -> None:
    found = asked_by_name(question, ["Alice Miller"])
    assert found is not None
    assert found.text == asked


def test_a_name_without_spaces_around_it_is_found() -> None:
    found = asked_by_name("田中はどこに住んでいますか", ["田中"])
    assert found is not None
    assert found.text == "私はどこに住んでいますか"


@pytest.mark.parametrize(
    "question",
    [
        "Who is Alice?",
        "Where does Alice Cooper live?",
        "Which Alice did they mean?",
        "Where does Malice come from?",
        "When did I become Alice?",
        "Where does Ben live?",
    ],
)
def test_a_question_about_the_name_or_another_person_stays_as_it_is(question: str) -> None:
    assert asked_by_name(question, ["Alice Miller"]) is None


def test_a_name_that_is_a_common_word_is_found_only_as_a_name() -> None:
    assert asked_by_name("What will the plumber cost in May?", ["Will"]) is None
