"""Words of statements: whom one is about, and whether a question is about who asks."""

import pytest

from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from pipeline.text.statement_words import (
    asks_about_asker,
    asks_about_asker_alone,
    has_change_word,
    relative_in_subject,
)


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
