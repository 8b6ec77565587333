"""Texts from a seed."""

from bench.package_descriptions import package_descriptions
from bench.text_generator import TextGenerator


def test_the_same_seed_writes_the_same_texts() -> None:
    first, other = (TextGenerator(3).document(2, 400, 5) for _ in range(2))
    assert first == other
    assert TextGenerator(4).document(2, 400, 5) != first


def test_a_paragraph_stays_within_its_length_and_two_do_not_share_a_chunk() -> None:
    writer = TextGenerator()
    lengths = [len(writer.paragraph(740)) for _ in range(200)]
    assert max(lengths) <= 740
    assert 2 * min(lengths) > 800


def test_a_question_uses_words_of_its_subject() -> None:
    writer = TextGenerator()
    words = set(writer.question(9, words=40).split())
    text = writer.document(10, 740, 9).lower().replace(".", "").split()
    assert len(words & set(text)) > 30


def test_descriptions_are_those_of_installed_packages_without_our_own() -> None:
    names = dict(package_descriptions()).keys()
    assert "pydantic" in names
    assert "recollect" not in names
