"""Text to the terms that full-text search counts: folded, stopped, stemmed by its language, hashed to 32 bits.

Scripts without spaces, and Hangul with its attached particles, become overlapping pairs of characters;
single ideographs count as well, because one of them is often a word.
"""

import re
import unicodedata
import zlib
from array import array
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from itertools import chain
from string import ascii_lowercase
from threading import local

import numpy as np
import Stemmer

from pipeline.rows import Terms
from pipeline.text.stopwords import LANGUAGES, stopwords

WORD_CACHE_SIZE = 65_536
_MAX_WORD_CHARS = 64
"""Longer runs of letters are encoded data, not words; their beginning is enough to find them."""

# Combining signs are part of their word, which \w does not know.
_COMBINING_MARKS = "\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983\u09bc-\u09d7"
_COMBINING_MARKS += "\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a81-\u0a83\u0abc-\u0acd\u0b82\u0bbe-\u0bcd\u0c00-\u0c04"
_COMBINING_MARKS += "\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_COMBINING_MARKS += "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3"
_WORD = re.compile(rf"(?:[^\W_]|[{_COMBINING_MARKS}])+")
WORD_WITH_ACCENTS = re.compile(rf"(?:[^\W_]|[{_COMBINING_MARKS}\u0300-\u036f])+")
"""A word of a text that is not folded."""
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED_SCRIPTS = f"{_IDEOGRAPHS}\u3005\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SCRIPT_RUNS = re.compile(rf"[{_UNSPACED_SCRIPTS}]+|[^{_UNSPACED_SCRIPTS}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED_SCRIPTS}]")
_IS_IDEOGRAPH = re.compile(rf"[{_IDEOGRAPHS}]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_MIN_MISSPELLED_CHARS, _MIN_REPLACED_CHARS = 6, 7
"""Letters from which a word that nobody has is taken for a misspelled one, and for one with a wrong letter."""
_MIN_STOPWORDS = 2
_MIN_LEAD = 1.5
_MAX_DETECTED_WORDS = 100
"""A language is told by at least two of its stopwords or letters among the first hundred words, and by more of
them than one that English has not: "cat" is a Romanian stopword."""
_LETTERS = {
    "ß": "german", "ñ": "spanish", "¿": "spanish", "¡": "spanish", "ã": "portuguese", "õ": "portuguese",
    "œ": "french", "ł": "polish", "ą": "polish", "ę": "polish", "ż": "polish", "ś": "polish", "ş": "turkish",
    "ğ": "turkish", "ř": "czech", "ů": "czech", "ő": "hungarian", "ű": "hungarian", "ă": "romanian",
    "ø": "norwegian",
}  # fmt: skip
"""Letters of one language among those we know; each counts as a stopword."""
_EXCLUSIVITY = 0.5
"""What a stopword counts more for a language that alone has it."""
_SCRIPTS = (
    (re.compile("[\u0400-\u04ff]"), "russian"),
    (re.compile("[\u0370-\u03ff]"), "greek"),
    (re.compile("[\u0600-\u06ff]"), "arabic"),
    (re.compile("[\u0900-\u097f]"), "hindi"),
)
"""The language of texts in scripts that others of our languages do not use, or only with their own stopwords."""
_CJK_CLASS_RUNS = re.compile("[\u3040-\u309f]+|[\u30a0-\u30ff\u31f0-\u31ff]+|[^\u3040-\u30ff\u31f0-\u31ff]+")
"""Hiragana, which inflects and links, katakana, and everything else: words seldom go beyond one of them."""
_IS_HIRAGANA = re.compile("[\u3040-\u309f]")
_CJK_FUNCTION_WORDS = re.compile(
    "(?:てい|でい|い)?(?:ますか|ました(?:か)?|ません(?:か)?|ます)|でしょう(?:か)?|です(?:か|が)?|でした(?:か)?|ください|どこ|いつ|どんな|どの(?:くらい)?|どう|いくら|なに|だれ|"
    "これ|それ|あれ|この|その|あの|うち|から|まで|ので|のは|には|では|とは|にとって|って|なければなりません|という|ている|ことが|もう|私達?|彼女|何|誰|什么|怎么样|怎么|多少|哪里|哪儿|"
    "哪[个家份件对种天]|谁|我们?|你们?|他们?|她们?|这个?|那个?|的|了|吗|呢"
)
"""Japanese and Chinese question words, pronouns, endings and particles."""


def words(text: str) -> list[str]:
    """The words of a text, folded: case, width and accents do not matter."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(fold(text))


def fold(text: str) -> str:
    """Case, width and accents removed; a surrogate without its partner stays as it is."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFKC", plain)


def terms(text: str, language: str | None = None) -> list[str]:
    """The terms of a text in order, with repetition, in its own language or as if it were in another.

    >>> terms("The Running DOGS of München!")
    ['run', 'dog', 'munchen']
    """
    found = words(text)
    language = language or detect_language(found, text)
    return [term for word in found for term in _word_terms(word, language)]


def hash_terms(text: str) -> Terms:
    """The terms as stable 32-bit hashes."""
    found = words(text)
    language = detect_language(found, text)
    return np.array(list(chain.from_iterable([term_hashes(word, language) for word in found])), np.uint32)


def query_term_forms(text: str) -> list[tuple[int, ...]]:
    """The distinct terms of a query, each with the forms that stemmers of other languages give its word.

    A name is stemmed by the language around it, so a question in one language about a text in another may
    need another language's form.
    """
    found = words(text)
    language = detect_language(found, text)
    forms: dict[int, tuple[int, ...]] = {}
    for word in found:
        terms_of_word = term_hashes(word, language)
        others = _forms_in_other_languages(word) if len(terms_of_word) == 1 else ()
        for term in terms_of_word:
            forms.setdefault(term, (term, *(other for other in others if other != term)))
    return list(forms.values())


def spelling_forms(text: str, unknown_terms: Collection[int]) -> dict[int, "array[int]"]:
    """The terms of words one slip of the pen from those words of a query whose terms nobody has, by term.

    >>> [term_hash("address") in forms for forms in spelling_forms("our adress", [term_hash("adress")]).values()]
    [True]
    """
    found = words(text)
    language = detect_language(found, text)
    forms: dict[int, array[int]] = {}
    for word in found:
        own = term_hashes(word, language)
        if len(own) == 1 and own[0] in unknown_terms and word.isascii() and word.isalpha():
            # Not by the cache of terms, which these words, made up by the hundred, would fill; stemmed in one call.
            likely = [like[:_MAX_WORD_CHARS] for like in _misspellings(word) if like not in _folded_stopwords(language)]
            stems: list[str] = _stemmers().by_language[language].stemWords(likely)
            forms[own[0]] = array("I", map(term_hash, stems))
    return forms


def _misspellings(word: str) -> dict[str, None]:
    """Words with one letter less, swapped or more, and one other letter in long words; they begin with the same.

    In the same order in every process: the first of equally frequent words is taken.
    """
    if not _MIN_MISSPELLED_CHARS <= len(word) <= _MAX_WORD_CHARS:
        return {}
    parts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    letters = ascii_lowercase if len(word) >= _MIN_REPLACED_CHARS else ""
    shorter = (head + tail[1:] for head, tail in parts if tail)
    swapped = (head + tail[1] + tail[0] + tail[2:] for head, tail in parts if len(tail) > 1)
    longer = (head + letter + tail for head, tail in parts for letter in ascii_lowercase)
    changed = (head + letter + tail[1:] for head, tail in parts if tail for letter in letters)
    return dict.fromkeys(chain(shorter, swapped, longer, changed))


@lru_cache(maxsize=WORD_CACHE_SIZE)
def term_hashes(word: str, language: str = "english") -> tuple[int, ...]:
    """The hashes of the terms of one folded word in a text of a language; none for a stopword."""
    return tuple(term_hash(term) for term in _word_terms(word, language))


@lru_cache(maxsize=WORD_CACHE_SIZE)
def _forms_in_other_languages(word: str) -> tuple[int, ...]:
    if is_unspaced_script(word):
        return ()
    return tuple(dict.fromkeys(term_hash(_stem(word[:_MAX_WORD_CHARS], language)) for language in LANGUAGES))


def content_words(folded_words: Sequence[str]) -> list[str]:
    """Folded words without stopwords, each once.

    >>> content_words(words("The dog and the cat, the dog"))
    ['dog', 'cat']
    """
    language = detect_language(folded_words)
    return [word for word in dict.fromkeys(folded_words) if term_hashes(word, language)]


def detect_language(folded_words: Sequence[str], text: str = "") -> str:
    """The language most of whose stopwords and letters a text has; in doubt that of its script, or English.

    >>> detect_language(words("Wo wohnt meine Schwester?"))
    'german'
    """
    votes, counts = _stopword_votes(), [0.0] * len(LANGUAGES)
    # Not a set: sums of weights in another order may differ, and with them the language of a text in another process.
    for word in dict.fromkeys(folded_words[:_MAX_DETECTED_WORDS]):
        for language, weight in votes.get(word, ()):
            counts[language] += weight
    if text and not text.isascii():
        for letter in _LETTERS.keys() & set(text[:_MAX_DETECTED_WORDS].lower()):
            counts[LANGUAGES.index(_LETTERS[letter])] += 1.0
    best = counts.index(max(counts))
    if counts[best] >= _MIN_STOPWORDS and counts[best] - counts[0] > _MIN_LEAD:
        return LANGUAGES[best]
    return next((language for script, language in _SCRIPTS if text and script.search(text)), "english")


@cache
def _stopword_votes() -> dict[str, list[tuple[int, float]]]:
    """Votes of each folded stopword: languages by number, with the weight of the vote."""
    languages: dict[str, list[int]] = {}
    for number, language in enumerate(LANGUAGES):
        for word in _folded_stopwords(language):
            languages.setdefault(word, []).append(number)
    return {
        word: [(number, 1.0 + _EXCLUSIVITY / len(numbers)) for number in numbers] for word, numbers in languages.items()
    }


@cache
def _folded_stopwords(language: str) -> frozenset[str]:
    return frozenset(part for word in stopwords(language) for part in words(word))


def term_hash(term: str) -> int:
    """CRC-32: the same on every machine and in every version, and one C call."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def is_unspaced_script(word: str) -> bool:
    """Tell whether a word is in a script without spaces, whose terms are character bigrams."""
    return not word.isascii() and _IS_UNSPACED.search(word) is not None


def is_in_latin_script(text: str) -> bool:
    """Tell whether all letters of a text are Latin ones."""
    return text.isascii() or all(letter < "\u0250" or not letter.isalpha() for letter in text)


def _word_terms(word: str, language: str) -> list[str]:
    if word in _folded_stopwords(language):
        return []
    if not is_unspaced_script(word):
        return [_stem(word[:_MAX_WORD_CHARS], language)]
    return [
        term
        for run in _SCRIPT_RUNS.findall(word)
        for term in (_character_bigrams(run) if _IS_UNSPACED.match(run) else _word_terms(run, language))
    ]


def _character_bigrams(run: str) -> list[str]:
    """Pairs of characters of one class between function words, and single ideographs."""
    return [
        term
        for between in _CJK_FUNCTION_WORDS.split(run)
        for part in _CJK_CLASS_RUNS.findall(between)
        for term in (_pairs(part) if len(part) > 1 else [] if _IS_HIRAGANA.match(part) else [part])
    ]


def _pairs(part: str) -> list[str]:
    return [*(part[at : at + 2] for at in range(len(part) - 1)), *_IS_IDEOGRAPH.findall(part)]


class _Stemmers(local):
    """Stemmers per thread: one object must not be used by two at once."""

    def __init__(self) -> None:
        self.by_language = {language: Stemmer.Stemmer(language, 0) for language in LANGUAGES}


@lru_cache(maxsize=1)
def _stemmers() -> _Stemmers:
    return _Stemmers()


def _stem(word: str, language: str) -> str:
    stem: str = _stemmers().by_language[language].stemWord(word)
    return stem
