"""The language of a sentence: by its script, or by the letters of its words, learned from examples. Pure.

Each word adds what its letters tell for each language, as `python -m bench.memory.language_letters` has learned it.
"""

import re
import zlib
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pipeline.memory.languages.profiles import SCRIPTS, LanguageProfile, all_profiles
from pipeline.text.english_verbs import BASES, third_person

LETTERS_FILE = Path(__file__).parent / "letters.npy"
"""A row of log-odds for each bucket of letters, a column for each of `LANGUAGES`, in steps of `STEP`."""
LANGUAGES = (
    "en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "tr", "vi", "hu", "fi", "ro", "hr", "id", "ru", "uk",
)  # fmt: skip
"""Languages that share a script with another one."""
BUCKETS = 16_384
STEP = 0.08
MAX_GRAM = 4
"""Letters of the longest part of a word that tells its language."""
_WHOLE_WORD = 3.0
_PARTS = 2.0
"""What a word counts, and what all parts of it count together."""
_ENGLISH_LEAD = 1.0
"""What tells for English beforehand: a name or an abbreviation is of no language."""
_EXPECTED_LEAD = 4.0
"""The same for the language of the sentences before."""
_ENGLISH_VERB_LEAD = 4.0
"""What an English verb with an s tells: beside a foreign name it is most of `Ada likes tea`."""
_ENGLISH_VERBS = frozenset(map(third_person, BASES))
_CACHED_WORDS = 8_192
_MAX_WORDS = 150
"""Words of a text by which its language is told."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_ENGLISH_CLITIC = re.compile(r"\bI['\u2019](?:m|ve|ll|d)\b|\b[a-z]+n['\u2019]t\b")
_MAY_BE_I = re.compile(r"\bI (?=[a-z])")
_OWN_SCRIPTS = {
    "ko": re.compile("[\uac00-\ud7af]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "el": re.compile("[\u0370-\u03ff]"),
}
"""Scripts of one language, whatever a sentence says."""
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_LATIN = re.compile("[a-z]", re.IGNORECASE)
_IS_CYRILLIC = np.array([code in ("ru", "uk") for code in LANGUAGES])


def detect_language(
    text: str, expected: LanguageProfile | Literal["unknown"] | None = "unknown"
) -> LanguageProfile | None:
    """Return the profile of a sentence's language; None for English.

    `expected`: the language of the sentences before it, so that a few words are of another one only if they surely are.

    >>> detect_language("Ich wohne in Berlin.") is not None, detect_language("I live in Berlin.")
    (True, None)
    """
    if (written := _by_script(text)) is not None:
        return written
    if _ENGLISH_CLITIC.search(text):
        return None
    odds = _log_odds(text)
    odds[0] += _ENGLISH_LEAD * (expected in ("unknown", None)) + _ENGLISH_LEAD * (_MAY_BE_I.search(text) is not None)
    profiles = _profiles()
    odds[[profile is expected for profile in profiles]] += _EXPECTED_LEAD
    return profiles[int(np.argmax(odds))]


def is_doubtful(text: str) -> bool:
    """Return whether a text is hardly more English than of another language: `koffie is op`.

    >>> is_doubtful("koffie is op"), is_doubtful("coffee is for us")
    (True, False)
    """
    odds = _log_odds(text)
    return bool(odds[0] <= odds[1:].max())


def parts_of_word(word: str) -> list[int]:
    """Return the buckets of a word, first its own and then those of the letters within it."""
    marked = f"<{word}>"
    parts = [
        marked[begin : begin + size]
        for size in range(1, MAX_GRAM + 1)
        for begin in range(len(marked) - size + 1)
        if size > 1 or 0 < begin <= len(word)
    ]
    return [_bucket(part) for part in (marked, *(part for part in parts if part != marked))]


def weights_of_parts(count: int) -> NDArray[np.float32]:
    """Return what each of the buckets of a word counts."""
    weights = np.full(count, _PARTS / count, np.float32)
    weights[0] += _WHOLE_WORD - _PARTS
    return weights


def words_of(text: str) -> list[str]:
    """Return the words of a text by which its language is told."""
    return _WORD.findall(text.replace("İ", "i").lower())[:_MAX_WORDS]


def _by_script(text: str) -> LanguageProfile | None:
    """Return the language that a script tells; None for a text in Latin or Cyrillic letters."""
    if text.isascii():
        return None
    latin = len(_LATIN.findall(text))
    found = [code for code, script in _OWN_SCRIPTS.items() if len(script.findall(text)) > latin]
    found = [code for code, script in SCRIPTS.items() if script.search(text)] or found
    return all_profiles()[found[0]] if found else None


def _log_odds(text: str) -> NDArray[np.float32]:
    """Return what tells for each language."""
    odds = np.zeros(len(LANGUAGES), np.float32)
    for word in words_of(text):
        odds += _word_log_odds(word)
    is_cyrillic = not text.isascii() and len(_CYRILLIC.findall(text)) > len(_LATIN.findall(text))
    odds[is_cyrillic != _IS_CYRILLIC] = -np.inf
    return odds


@lru_cache(maxsize=_CACHED_WORDS)
def _word_log_odds(word: str) -> NDArray[np.float32]:
    buckets = parts_of_word(word)
    found: NDArray[np.float32] = weights_of_parts(len(buckets)) @ _letters()[buckets] * np.float32(STEP)
    found[0] += _ENGLISH_VERB_LEAD * (word in _ENGLISH_VERBS)
    return found


@cache
def _profiles() -> list[LanguageProfile | None]:
    """Return the profiles of `LANGUAGES`, None for English."""
    return [None, *(all_profiles()[code] for code in LANGUAGES[1:])]


@cache
def _letters() -> NDArray[np.float32]:
    letters: NDArray[np.float32] = np.load(LETTERS_FILE).astype(np.float32)
    return letters


def _bucket(part: str) -> int:
    return zlib.crc32(part.encode()) % BUCKETS
