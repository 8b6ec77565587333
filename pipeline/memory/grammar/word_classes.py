"""Word classes and lemmas of parsed sentences, looked up by word, which is quicker than the parser's own components."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

COMPONENTS = ["attribute_ruler", "lemmatizer"]
"""The parser's components that set word classes and lemmas."""
_PAIRED = frozenset({"ai", "c'm", "gon", "let", "ta", "y", "y'"})
"""Words whose lemma depends on the word beside them: `let's`."""
_MAX_KNOWN = 50_000
_Word = tuple[str, str, str]
"""A word, its tag and its dependency."""


class WordClasses:
    """Word classes and lemmas by word, tag and dependency, each found once by the parser's components."""

    def __init__(self, parser: "Language") -> None:
        self._parser = parser
        self._known: dict[_Word, tuple[str, str]] = {}

    def annotate(self, docs: "Sequence[Doc]") -> None:
        """Set what the components would set."""
        sentences = [[(token.text, token.tag_, token.dep_) for token in doc] for doc in docs]
        by_word = [words if all(map(_stands_alone, words)) else None for words in sentences]
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        self._look_up(list({word: None for words in by_word for word in words or () if word not in self._known}))
        for doc, words in zip(docs, by_word, strict=True):
            if words is None:
                self._run_components(doc)
                continue
            for token, word in zip(doc, words, strict=True):
                token.pos_, token.lemma_ = self._known[word]

    def _look_up(self, words: Sequence[_Word]) -> None:
        """Find words that stand alone, in one sentence of them all."""
        from spacy.tokens import Doc  # noqa: PLC0415 - as in english_parser

        if words:
            texts, tags, deps = (list(column) for column in zip(*words, strict=True))
            found = Doc(self._parser.vocab, words=texts, tags=tags, deps=deps, heads=list(range(len(words))))
            self._run_components(found)
            self._known |= {word: (token.pos_, token.lemma_) for word, token in zip(words, found, strict=True)}

    def _run_components(self, doc: "Doc") -> None:
        for name in COMPONENTS:
            self._parser.get_pipe(name)(doc)


def _stands_alone(word: _Word) -> bool:
    """Return whether the words beside it change nothing."""
    text, _, dep = word
    return dep != "expl" and text.lower() not in _PAIRED and not text.isspace()
