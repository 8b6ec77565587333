"""Questions about the user: which ones mean what the user would ask, and how they are asked."""

import pytest

from pipeline.index.question_perspective import asked_about_user


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
