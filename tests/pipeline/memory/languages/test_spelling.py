"""Misspelled words of messages."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import iter_facts
from pipeline.memory.grammar.english_parser import spelling_corrector
from pipeline.memory.languages.short_messages import MEMORABLE, Meanings


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("i have a peanut alergy", "i have a peanut allergy"),
        ("my daugther recieves it in febuary", "my daughter receives it in february"),
        ("we definately seperated in tihs janurary", "we definitely separated in this january"),
        ("taht appartment is stuborn", "that apartment is stubborn"),
    ],
)
def test_a_word_that_only_one_word_is_spelled_like_is_corrected(written: str, meant: str) -> None:
    assert spelling_corrector().corrected(written) == meant


@pytest.mark.parametrize(
    "kept",
    [
        "my sister lena lives with bram and gabriela",
        "the plumber ate scones and desserts, no carb, no gluten",
        "Ask Jenifer or mail jenifer@exampel.org about alergy_list",
        "we use kotlin, figma and asana at bosch",
        "a comma in the licence of the paediatric ward",
    ],
)
def test_names_addresses_and_rare_words_stay(kept: str) -> None:
    assert spelling_corrector().corrected(kept) == kept


def test_a_memory_of_a_misspelled_message_is_spelled_right() -> None:
    facts = iter_facts("my daugther starts scool in septmber, im vegitarian", date(2026, 11, 29))
    assert [fact.text for fact in facts] == ["User's daughter starts school in September", "User is vegetarian"]


def test_words_of_another_language_are_no_misspelled_english_ones() -> None:
    facts = iter_facts("J'habite à Lyon depuis octobre avec ma femme", date(2026, 11, 29))
    assert [fact.text for fact in facts] == ["User: J'habite à Lyon depuis octobre avec ma femme"]


@pytest.mark.parametrize(
    "said",
    [
        "bhai meri salary ab 18 lakh ho gayi",
        "i kori mou spoudazei iatriki stin patra",
        "yung anak ko si jomar may hika siya",
    ],
)
def test_a_language_that_nobody_told_is_not_read_as_english(said: str) -> None:
    """Nothing is resolved in it: `mein` and `i` are no words for the speaker."""
    assert spelling_corrector().corrected(said) == said
    assert [fact.text for fact in iter_facts(said)] == []
    meant = Meanings({said: MEMORABLE})
    assert [fact.text for fact in iter_facts(said, meanings=meant)] == [f"User: {said}"]


@pytest.mark.parametrize(
    "said", ["i play the bodhran and the uilleann pipes", "my meds are apixaban and bisoprolol", "tryna quit vapin"]
)
def test_rare_words_and_slang_are_english(said: str) -> None:
    assert not spelling_corrector().is_foreign(said)


def test_im_alone_shows_no_german() -> None:
    assert [fact.text for fact in iter_facts("im vegan since 2019")] == ["User is vegan since 2019"]


def test_praise_after_a_sigh_is_irony() -> None:
    assert list(iter_facts("oh great, I just LOVE working weekends at the call center")) == []
