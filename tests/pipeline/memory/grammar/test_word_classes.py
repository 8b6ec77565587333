"""Word classes and lemmas that are looked up are those of the parser's own components."""

from typing import TYPE_CHECKING

from pipeline.memory.grammar.english_parser import english_parser
from pipeline.memory.grammar.word_classes import COMPONENTS, WordClasses

if TYPE_CHECKING:
    from spacy.tokens import Doc

_SAID = (
    "Let's meet where there's a cafe, I ain't got time.",
    "I've been working since May, but my sisters haven't.",
    "There were  two mice; they've left, because it does rain.",
    "Do you know which of these geese I'd gonna feed?",
    "I have to do the dishes that she did, and y'all gotta help.",
)


def test_words_have_the_classes_and_lemmas_that_the_components_give_whether_seen_before_or_not() -> None:
    parser = english_parser()
    classes = WordClasses(parser)

    for _ in range(2):
        looked_up, whole = (list(parser.pipe(_SAID)) for _ in range(2))
        classes.annotate(looked_up)
        for doc in whole:
            for name in COMPONENTS:
                parser.get_pipe(name)(doc)

        assert [_annotations(doc) for doc in looked_up] == [_annotations(doc) for doc in whole]


def _annotations(doc: "Doc") -> list[tuple[str, ...]]:
    return [(token.text, token.pos_, token.lemma_, token.tag_, token.dep_) for token in doc]
