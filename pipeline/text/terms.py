"""Text to the terms that full-text search counts: folded, stopped, stemmed, hashed to 32 bits.

Scripts without spaces, and Hangul with its attached particles, become overlapping pairs of characters;
single ideographs count as well, because one of them is often a word.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from threading import local

import numpy as np
import Stemmer

from pipeline.rows import Terms
from pipeline.text.stopwords import STOPWORDS

WORD_CACHE = 65_536
_LONGEST_WORD = 64
"""Longer runs of letters are encoded data, not words; their beginning is enough to find them."""

# Combining signs are part of their word, which \w does not know.
_SIGNS = "\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983\u09bc-\u09d7"
_SIGNS += "\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a81-\u0a83\u0abc-\u0acd\u0b82\u0bbe-\u0bcd\u0c00-\u0c04"
_SIGNS += "\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_SIGNS += "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3"
_WORD = re.compile(rf"(?:[^\W_]|[{_SIGNS}])+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_DENSE = f"{_IDEOGRAPHS}\u3005\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RUNS = re.compile(rf"[{_DENSE}]+|[^{_DENSE}]+")
_IS_DENSE = re.compile(rf"[{_DENSE}]")
_IS_IDEOGRAPH = re.compile(rf"[{_IDEOGRAPHS}]")
_ACCENTS = re.compile("[\u0300-\u036f]")


def words(text: str) -> list[str]:
    """The words of a text, folded: case, width and accents do not matter."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(fold(text))


def fold(text: str) -> str:
    """Case, width and accents removed; a surrogate without its partner stays as it is."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFKC", plain)


def terms(text: str) -> list[str]:
    """The terms of a text in order, with repetition.

    >>> terms("The Running DOGS of München!")
    ['run', 'dog', 'munchen']
    """
    return [term for word in words(text) for term in _terms(word)]


def hashed(text: str) -> Terms:
    """The terms as stable 32-bit hashes."""
    return np.array(list(chain.from_iterable(map(term_hashes, words(text)))), np.uint32)


@lru_cache(maxsize=WORD_CACHE)
def term_hashes(word: str) -> tuple[int, ...]:
    """The hashes of the terms of one folded word; none for a stopword."""
    return tuple(term_hash(term) for term in _terms(word))


def telling(found: Iterable[str]) -> list[str]:
    """Of folded words those that say something, each once.

    >>> telling(words("The dog and the cat, the dog"))
    ['dog', 'cat']
    """
    return [word for word in dict.fromkeys(found) if term_hashes(word)]


def term_hash(term: str) -> int:
    """CRC-32: the same on every machine and in every version, and one C call."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def is_dense(word: str) -> bool:
    """Whether a word has a script without spaces, so that its terms are pairs of characters."""
    return not word.isascii() and _IS_DENSE.search(word) is not None


def _terms(word: str) -> list[str]:
    if word in STOPWORDS:
        return []
    if not is_dense(word):
        return [_stem(word[:_LONGEST_WORD])]
    return [
        term for run in _RUNS.findall(word) for term in (_grams(run) if _IS_DENSE.match(run) else _terms(run))
    ]


def _grams(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return pairs + _IS_IDEOGRAPH.findall(run)


class _Stemmers(local):
    """A stemmer per thread: one object must not be used by two at once."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=1)
def _stemmers() -> _Stemmers:
    return _Stemmers()


def _stem(word: str) -> str:
    stem: str = _stemmers().english.stemWord(word)
    return stem
