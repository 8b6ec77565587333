"""Texts are split into the pieces that the model was trained with."""

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from pipeline.models.e5.e5_weights import E5Weights, Vocabulary, locate_weights
from pipeline.models.e5.unigram_tokenizer import UnigramTokenizer
from tests.pipeline.models.e5.sample_texts import TEXTS


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return E5Weights(locate_weights()).vocabulary


@pytest.fixture(scope="module")
def tokenizer(vocabulary: Vocabulary) -> UnigramTokenizer:
    return UnigramTokenizer(vocabulary)


@pytest.fixture(scope="module")
def reference(vocabulary: Vocabulary) -> Tokenizer:
    pairs = list(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    reference = Tokenizer(models.Unigram(pairs, unk_id=vocabulary.unknown))
    reference.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    reference.pre_tokenizer = pre_tokenizers.Metaspace()
    return reference


@pytest.mark.parametrize("language", TEXTS)
def test_pieces_are_those_of_the_tokenizers_package(
    tokenizer: UnigramTokenizer, reference: Tokenizer, language: str
) -> None:
    for text in [*TEXTS[language], "passage: " + "  ".join(TEXTS[language])]:
        assert tokenizer.token_ids(text) == reference.encode(text, add_special_tokens=False).ids


def test_a_character_is_not_taken_for_the_letters_that_have_the_same_bytes_in_memory(
    tokenizer: UnigramTokenizer, reference: Tokenizer
) -> None:
    for text in ("na\u616e", "the\u6572 re", "cacahu\u00e8te ar \u7261"):
        assert tokenizer.token_ids(text) == reference.encode(text, add_special_tokens=False).ids


def test_line_breaks_separate_words_as_spaces_do(tokenizer: UnigramTokenizer) -> None:
    assert tokenizer.token_ids("one\ntwo\u3000three\t") == tokenizer.token_ids("one two three")


def test_accents_are_composed_before_the_text_is_split(tokenizer: UnigramTokenizer) -> None:
    assert tokenizer.token_ids("cafe\u0301") == tokenizer.token_ids("caf\u00e9")


def test_neighboring_unknown_characters_are_one_unknown_piece(
    tokenizer: UnigramTokenizer, vocabulary: Vocabulary
) -> None:
    assert tokenizer.token_ids("a \U0001f9ff\ue000\ue001 b").count(vocabulary.unknown) == 1


def test_a_run_without_spaces_of_any_length_is_split(tokenizer: UnigramTokenizer) -> None:
    assert len(tokenizer.token_ids("ab" * 50_000)) > 1_000
