"""Words that full-text search takes for the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.analyzer import (
    detect_language,
    hash_terms,
    query_term_forms,
    spelling_forms,
    term_hash,
    term_hashes,
    terms,
    words,
)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("running dogs", "RUN dog"),
        ("café", "cafe"),
        ("STRASSE", "straße"),
        ("\uff32\uff45\uff43\uff41\uff4c\uff4c", "recall"),
        ("cafe\u0301", "caf\u00e9"),
        ("snake_case", "snake case"),
    ],
)
def test_spellings_of_the_same_words_give_the_same_terms(first: str, second: str) -> None:
    assert terms(first) == terms(second)


def test_stopwords_say_nothing() -> None:
    assert terms("What is it that you are to the and?") == []


def test_a_contraction_leaves_no_crumbs() -> None:
    assert terms("Caroline's dog doesn't bark, I'll say") == ["carolin", "dog", "bark", "say"]


def test_scripts_without_incarnations_become_pairs_and_single_ideographs() -> None:
    assert set(terms("東京都")) == {"東京", "京都", "東", "京", "都"}
    assert terms("ねこ") == ["ねこ"]
    assert terms("แมว") == ["แม", "มว"]


def test_a_word_inside_a_longer_run_shares_its_terms() -> None:
    assert set(terms("猫")) <= set(terms("私は猫が好きです"))
    assert set(terms("서울")) <= set(terms("서울에서"))


def test_latin_words_inside_japanese_are_words() -> None:
    assert "python" in terms("私はPythonが好き")


def test_signs_stay_with_their_word() -> None:
    assert len(terms("हिन्दी भाषा")) == 2


def test_hashes_never_change() -> None:
    assert hash_terms("The quick foxes 42").tolist() == [
        term_hash("quick"),
        term_hash("fox"),
        term_hash("42"),
    ]
    assert term_hash("fox") == 0x0FA0E0E6


@given(st.text())
def test_any_text_is_harmless_and_hashes_follow_terms(text: str) -> None:
    found = hash_terms(text)
    assert found.dtype == np.uint32
    assert found.tolist() == [term_hash(term) for term in terms(text)]


def test_nul_surrogates_and_very_long_words_are_harmless() -> None:
    assert terms("a\0b \ud800") == ["b"]
    assert len(hash_terms("x" * 1_000_000)) == 1


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("german", "Wo wohnt meine Schwester jetzt?"),
        ("french", "Où habite ma sœur et avec qui ?"),
        ("polish", "Gdzie jest mój paszport i kto go ma?"),
        ("arabic", "أين يسكن أخي؟"),
        ("hindi", "मेरा पासपोर्ट कहाँ है?"),
        ("english", "User's cat Mimi died in 2024"),
        ("english", "Reykjavik"),
    ],
)
def test_a_language_is_told_by_its_stopwords_or_script(language: str, text: str) -> None:
    assert detect_language(words(text), text) == language


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Die Häuser sind bei den Gärten", "Das Haus ist bei dem Garten"),
        ("Las casas están en las montañas", "La casa está en la montaña"),
        ("Les maisons sont dans les jardins", "La maison est dans le jardin"),
    ],
)
def test_words_are_stemmed_by_the_language_of_their_text(first: str, second: str) -> None:
    assert terms(first) == terms(second)


def test_a_question_has_the_forms_that_its_words_take_in_other_languages() -> None:
    stored = set(hash_terms("Marco vive con la sua famiglia in una casa").tolist())
    name = term_hash("marco")
    forms = next(group for group in query_term_forms("Where does Marco live?") if group[0] == name)
    assert name not in stored
    assert stored & set(forms)


def test_spellings_of_a_word_come_in_the_same_order_in_every_process() -> None:
    (spellings,) = spelling_forms("adress", [term_hash("adress")]).values()
    assert spellings[:3].tolist() == [term_hash(word) for word in ("aress", "adess", "adrss")]


def test_spellings_of_unknown_words_leave_the_cache_of_terms_to_words_of_texts() -> None:
    spelling_forms("adress", [term_hash("adress")])
    cached = term_hashes.cache_info().currsize
    spelling_forms("adress", [term_hash("adress")])
    spelling_forms("adresss", [term_hash("adresss")])
    assert term_hashes.cache_info().currsize <= cached + 1
