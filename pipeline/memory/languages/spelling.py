"""Correction of misspelled words, before a sentence is read. Pure."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator
from string import ascii_lowercase

from pipeline.text.english_verbs import BASES
from pipeline.text.stopwords import STOPWORDS

_WORD = re.compile(r"(?<![\w'\u2019@#./-])[a-z]{4,20}(?![\w'\u2019@/-]|\.\w)")
"""Words in small letters: a name with a capital, an address or a code is never corrected."""
_FREQUENT = STOPWORDS | BASES
"""What a word of four letters may stand for; `bram` and `lena` are near many others."""
_MIN_FREE_CHARS, _MIN_DOUBLED_CHARS, _MIN_OTHER_CHARS = 5, 7, 8
"""Letters from which a word may lack one, have one twice, and have one too many or another vowel: `comma` is no coma,
`scones` are no scenes."""
_PLAIN_WORD = re.compile(r"(?<![\w'\u2019@#./-])[a-z]{2,20}(?![\w'\u2019@/-]|\.\w)")
_MIN_FOREIGN_WORDS, _MIN_FOREIGN_SHARE = 3, 0.25
"""Unknown words that are spelled like no other, and their share, from which a text is not English: of 1,257 English
sentences none has as many."""
_VOWELS = "aeiouy"
_ENDINGS = (
    ("s", ("",)), ("es", ("",)), ("ies", ("y",)), ("ed", ("", "e")), ("ied", ("y",)), ("ing", ("", "e")),
    ("er", ("", "e")), ("est", ("", "e")), ("ly", ("",)), ("ily", ("y",)),
)  # fmt: skip
"""Endings of inflected words, and what the word without them may end with."""
_MIN_STEM_CHARS = 3


class WordHashes:
    """A set of words by 64-bit hashes: 8 bytes a word, where a set of texts takes up to 100.

    >>> "bee" in WordHashes(["ant", "bee"]), "wasp" in WordHashes(["ant", "bee"])
    (True, False)
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._hashes = array("q", sorted(map(hash, words)))

    def __contains__(self, word: object) -> bool:
        number = hash(word)
        at = bisect_left(self._hashes, number)
        return at < len(self._hashes) and self._hashes[at] == number


class SpellingCorrector:
    """Corrects English words by the lemmas of a dictionary and by words that were seen in text.

    A word that is neither, however it is inflected, is unknown. What it may stand for is both: rare words of the
    dictionary are as likely to be wrong as the word itself, and what is only in texts may be a name.
    """

    def __init__(self, lemmas: Container[str], seen: Container[str]) -> None:
        self._lemmas = lemmas
        self._seen = seen

    def corrected(self, sentence: str) -> str:
        """Return a sentence with each unknown word replaced by the one word that is nearly spelled like it.

        The first letter is taken for right, and of long words the last ones.

        >>> words = frozenset({"have", "peanut", "allergy", "remember", "that", "matter"})
        >>> SpellingCorrector(words, words).corrected("i have a peanut alergy, remeber taht matters")
        'i have a peanut allergy, remember that matters'
        """
        return sentence if self.is_foreign(sentence) else _WORD.sub(lambda match: self._corrected(match[0]), sentence)

    def knows(self, word: str) -> bool:
        """Return whether a word in small letters is of the dictionary, or was seen in text."""
        return word in self._seen or self._is_in_dictionary(word)

    def is_foreign(self, sentence: str) -> bool:
        """Return whether a text has too many words that no misspelling explains to be English, whatever else it is.

        >>> words = frozenset({"salary", "now", "is", "the", "of"})
        >>> corrector = SpellingCorrector(words, words)
        >>> corrector.is_foreign("meri salary ab badh gayi"), corrector.is_foreign("the salary of keyshawn is gr8 now")
        (True, False)
        """
        words = _PLAIN_WORD.findall(sentence)
        unknown = {word for word in words if not self.knows(word)}
        if len(unknown) < max(_MIN_FOREIGN_WORDS, _MIN_FOREIGN_SHARE * len(words)):
            return False
        unlike = [word for word in unknown if self._corrected(word) == word]
        return len(unlike) >= max(_MIN_FOREIGN_WORDS, _MIN_FOREIGN_SHARE * len(words))

    def _corrected(self, word: str) -> str:
        if self.knows(word):
            return word
        for spellings in (_swapped(word), _lengthened(word), _shortened(word), _with_other_vowel(word)):
            likely = {spelling for spelling in spellings if self._is_likely(spelling)}
            if likely:
                return likely.pop() if len(likely) == 1 else word
        return word

    def _is_likely(self, word: str) -> bool:
        if len(word) < _MIN_FREE_CHARS:
            return word in _FREQUENT
        return word in self._seen and self._is_in_dictionary(word)

    def _is_in_dictionary(self, word: str) -> bool:
        return word in STOPWORDS or any(lemma in self._lemmas for lemma in _lemmas(word))


def _lemmas(word: str) -> Iterator[str]:
    """Return what a word may be an inflection of, itself included."""
    yield word
    for ending, instead in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _MIN_STEM_CHARS:
            yield from (stem + end for end in instead)
            if "e" in instead and stem[-1] == stem[-2]:
                yield stem[:-1]


def _swapped(word: str) -> Iterator[str]:
    for at in range(1, len(word) - 1):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _lengthened(word: str) -> Iterator[str]:
    if len(word) >= _MIN_FREE_CHARS:
        for at in range(1, len(word)):
            yield from (word[:at] + letter + word[at:] for letter in ascii_lowercase)


def _shortened(word: str) -> Iterator[str]:
    """Return a word without one of two like letters, a long one without any letter."""
    if len(word) >= _MIN_DOUBLED_CHARS:
        for at in range(1, len(word)):
            if word[at] == word[at - 1] or (len(word) >= _MIN_OTHER_CHARS and at < len(word) - 2):
                yield word[:at] + word[at + 1 :]


def _with_other_vowel(word: str) -> Iterator[str]:
    if len(word) >= _MIN_OTHER_CHARS:
        for at in range(1, len(word) - 1):
            if word[at] in _VOWELS:
                yield from (word[:at] + vowel + word[at + 1 :] for vowel in _VOWELS if vowel != word[at])
