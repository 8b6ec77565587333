"""The asker's own name: which statements say it, and which questions mean the asker by it."""

import pytest

from pipeline.index.asker_name import asked_about_user, asked_by_name, introduced_name


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


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is the user's favorite food?", "What is my favorite food?"),
        ("Where does the user\u2019s sister live?", "Where does my sister live?"),
        ("user phone number", "my phone number"),
        ("Is the user married?", "Is I married?"),
        ("Wo wohnt der Nutzer?", "Wo wohnt I?"),
        ("¿Cuál es el trabajo del usuario?", "¿Cuál es el trabajo my?"),
        ("Où habite l\u2019utilisatrice ?", "Où habite I ?"),
        ("Wat is de bijbaan van de gebruiker?", "Wat is de bijbaan my?"),
        ("Где живёт пользователь?", "Где живёт I?"),
        ("ユーザーの仕事は?", "私の仕事は?"),
        ("用户对什么过敏", "我对什么过敏"),
        ("사용자의 직업은?", "my 직업은?"),
    ],
)
def test_a_question_about_the_user_is_asked_as_they_would(question: str, asked: str) -> None:
    found = asked_about_user(question, reads_pronouns=False)
    assert found is not None
    assert found.text == asked


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Where does she live?", "Where does I live?"),
        ("What's his job?", "What's my job?"),
        ("Wat lust hij niet?", "Wat lust I niet?"),
        ("How old is her daughter?", "How old is my daughter?"),
        ("Welchen Beruf hat er?", "Welchen Beruf hat I?"),
        ("她的女儿几岁了", "我的女儿几岁了"),
    ],
)
def test_a_pronoun_stands_for_the_user_where_nobody_is_named(question: str, asked: str) -> None:
    found = asked_about_user(question, reads_pronouns=True)
    assert found is not None
    assert found.text == asked
    assert asked_about_user(question, reads_pronouns=False) is None


@pytest.mark.parametrize(
    "question",
    [
        "How many users does the app have?",
        "Where do I live?",
        "When is Karin's party and what does she like?",
        "Where does my sister live, and is she married?",
        "What does her sister Ines do?",
        "How does the theater hold concerts?",
    ],
)
def test_other_questions_are_about_nobody_or_about_others(question: str) -> None:
    assert asked_about_user(question, reads_pronouns=True) is None


def test_the_words_that_named_the_user_are_known() -> None:
    found = asked_about_user("What is the user's job?", reads_pronouns=False)
    assert found is not None
    assert found.name_words == ("the", "user")
