"""Words of statements: whom one is about, and whether a question is about who asks."""

import pytest

from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from pipeline.text.statement_words import (
    asked_relations,
    asks_about_asker,
    asks_about_asker_alone,
    has_change_word,
    relative_in_subject,
    told_relations,
)
from pipeline.text.succession import tells_of_change


@pytest.mark.parametrize("language", [*LANGUAGES, *MORE_LANGUAGES])
def test_a_sister_is_told_from_the_asker_in_each_language(language: str) -> None:
    own, relative, question = paraphrases(language, locked=True).others[0]
    assert relative_in_subject(relative)
    assert not relative_in_subject(own)
    assert asks_about_asker(question)
    assert not asks_about_asker(relative)


@pytest.mark.parametrize(
    "text",
    ["I live with my sister.", "Ich wohne bei meiner Schwester.", "Moved in with my brother last week", ""],
)
def test_a_relative_after_the_verb_is_not_the_subject(text: str) -> None:
    assert not relative_in_subject(text)


@pytest.mark.parametrize(
    ("question", "named", "alone"),
    [
        ("Where do I live?", True, True),
        ("What is my job?", True, False),
        ("Where does my sister live?", False, False),
        ("Who is a vegetarian?", False, False),
        ("Was darf ich nicht essen?", True, True),
        ("Who calls me on Sundays?", True, False),
        ("Wen rufe ich sonntags an?", True, False),
        ("¿Quién me llama?", True, False),
        ("Qual è il mio lavoro?", True, False),
        ("我的工作是什么", True, False),
    ],
)
def test_questions_tell_whether_they_are_about_the_asker(question: str, named: bool, alone: bool) -> None:
    assert asks_about_asker(question) is named
    assert asks_about_asker_alone(question) is alone


@pytest.mark.parametrize(
    "text", ["Wir sind umgezogen", "J'ai déménagé à Vienne.", "Przeprowadziłam się", "빈으로 이사했어요."]
)
def test_a_change_is_told_in_other_languages(text: str) -> None:
    assert has_change_word(text)


@pytest.mark.parametrize(
    ("question", "told", "other"),
    [
        ("What is my wife's name?", "My girlfriend is Lea", "My daughter's name is Mia"),
        ("Wie heißt meine Frau?", "My wife is Ruth", "Meine Tochter heißt Mia"),
        ("Comment s'appelle ma sœur ?", "Ma sœur s'appelle Inès", "Mon fils s'appelle Léo"),
        ("What does my son like?", "The kids like beetles", "My brother likes football"),
        ("夫の名前は何ですか", "夫は健二です", "娘の名前はひなたで、来年小学校に上がります。"),
        ("我女儿叫什么名字", "女儿叫小雨", "儿子叫子轩"),
        ("딸 이름이 뭐예요?", "딸은 하은이에요", "큰아들 이름은 도윤이고"),
        ("ما اسم ابنتي؟", "ابنتي ليلى", "ابني آدم عمره سبع سنوات"),
    ],
)
def test_a_relative_who_is_asked_about_is_told_from_others(question: str, told: str, other: str) -> None:
    assert asked_relations(question) & told_relations(told)
    assert told_relations(other)
    assert not asked_relations(question) & told_relations(other)


@pytest.mark.parametrize(
    "question",
    [
        "Who looks after my daughter?",
        "Where did I meet my wife?",
        "Wer passt auf meinen Sohn auf?",
        "When do we visit my mother?",
        "Wann hat Frau Seidel Geburtstag?",
        "How is my family?",
        "誰が娘の世話をしますか",
        "我什么时候接女儿",
        "What is the capital of Peru?",
        "How old is my sister's son?",
        "¿Cómo se llama la mujer de mi hermano?",
        "弟の妻の仕事は何ですか?",
        "我妈妈的妈妈住在哪里",
    ],
)
def test_a_question_that_somebody_else_may_answer_asks_about_no_relative(question: str) -> None:
    assert not asked_relations(question)


@pytest.mark.parametrize(
    ("text", "changes"),
    [("I had to cancel the half marathon", True), ("We decided to sell the boat", True), ("I had to laugh", False)],
)
def test_what_somebody_had_to_end_is_a_change(text: str, changes: bool) -> None:
    assert tells_of_change(text) is changes
