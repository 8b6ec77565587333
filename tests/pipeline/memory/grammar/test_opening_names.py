"""Names that the parser does not know, or knows as something else."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts


@pytest.mark.parametrize(
    "sentence",
    [
        "Person0 lives in City0",
        "Quibble works at Acme",
        "String lives in Berlin",
        "Drew has two dogs",
        "Will works at Google",
        "May moved to Berlin",
        "Klaus-Dieter works at Company55",
        "\u00de\u00f3ra lives in City4",
        "Ring is allergic to nuts",
        "Blorbo Fnord likes tea",
    ],
)
def test_a_name_that_opens_a_sentence_is_its_subject(sentence: str) -> None:
    assert [fact.text for fact in extract_facts(f"{sentence}.")] == [sentence]


def test_a_capital_word_that_no_dictionary_knows_is_a_name() -> None:
    chat = "Priya: btw Anaya's allergic to kiwi, no kiwi pls\nLou: noted"
    assert [fact.text for fact in extract_facts(chat)] == ["Anaya is allergic to kiwi"]


@pytest.mark.parametrize("sentence", ["Swimming is great.", "Sounds good.", "Looks like rain.", "Thanks for that."])
def test_other_words_that_open_a_sentence_become_no_name(sentence: str) -> None:
    assert extract_facts(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("I live near Cais do Sodr\u00e9.", "User lives near Cais do Sodr\u00e9"),
        ("My office is on Rua do Ouro.", "User's office is on Rua do Ouro"),
        ("I moved to S\u00e3o Jo\u00e3o da Madeira.", "User moved to S\u00e3o Jo\u00e3o da Madeira"),
        ("My boss is Ruud van der Berg.", "User's boss is Ruud van der Berg"),
    ],
)
def test_a_name_with_particles_stays_whole(sentence: str, fact: str) -> None:
    assert [found.text for found in extract_facts(sentence)] == [fact]
