"""Languages other than English: what somebody says of themselves is kept in their own words.

Nothing is resolved or dated there: a sentence is a memory as it was said, after who said it. Only one that says where
somebody lives is split, so that a move replaces no more than that.

Each language has a file of word patterns. `own`: the speaker; `hedges`: doubts, requests, greetings and the person
addressed; `asks`: questions, which many write without a mark; `lasting`: what is so for long; `openings`: words that
join a sentence to the one before; `home` and `ended`: where somebody lives, and what is over; `common`: words by which
the language is told from English, where the letters do not. `has_spaces = false`: words are found within others.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.memory.languages.english import english_words
from pipeline.text.analyzer import detect_language as text_language
from pipeline.text.analyzer import words as folded_words
from pipeline.text.english_verbs import is_finite, is_third_person, word_set
from pipeline.text.statement_words import has_change_word

MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 6, 300
"""Characters of a sentence."""
_MIN_CJK_SENTENCE_CHARS = 4
"""Minimum in scripts with denser characters."""
_FOLDER = Path(__file__).parent
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LATIN = re.compile("[a-z]", re.IGNORECASE)
_SCRIPTS = {"ja": re.compile("[\u3040-\u30ff]"), "zh": re.compile("[\u4e00-\u9fff]")}
_ENGLISH = english_words("common")
_UNSURE = word_set("am min mit mi mine vi ho io eu ma ja me con no or")
"""Words of speakers of other languages that are also English, or units and names."""
_CODES = {"german": "de", "french": "fr", "spanish": "es"}
_PROFILED = frozenset({"english", "catalan", *_CODES})
QUESTION_MARK = re.compile("[?\uff1f\u061f;\u037e]\\s*$|\u00bf")
_COLON = re.compile("[:\uff1a]\\s*$")
_END = " .!\u3002\uff01\u2026\u0964"
_BETWEEN = re.compile(
    r"([,;\uff0c\u3001\u060c] *| (?:und|et|y|e|i|en|och|og|\u0438|\u0456|\u0442\u0430|\u03ba\u03b1\u03b9|ve|\u0219i) )"
)
_NEVER = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class LanguageProfile:
    """Patterns of personal, stating and permanent sentences, and the words that join a sentence to others."""

    common_words: frozenset[str]
    own: re.Pattern[str]
    hedges: re.Pattern[str]
    asks: re.Pattern[str]
    lasting: re.Pattern[str]
    openings: re.Pattern[str]
    home: re.Pattern[str]

    def statements(self, text: str) -> list[str]:
        """Split what somebody says of themselves and their home at commas and *and*, where each part says one thing.

        >>> detect_language("Ich lebe in Graz").statements("Ich bin Karl, wohne in Graz und arbeite als Koch")
        ['Ich bin Karl', 'wohne in Graz', 'arbeite als Koch']
        """
        if self.home.search(text) is None:
            return [text]
        first, *rest = _BETWEEN.split(text)
        found = [first]
        for separator, part in zip(rest[::2], rest[1::2], strict=True):
            if self._stands_alone(part) and self._names_speaker(found[-1]):
                found.append(part)
            else:
                found[-1] += separator + part
        return found

    def _stands_alone(self, part: str) -> bool:
        return self.lasting.search(part) is not None and self._names_speaker(part)

    def _names_speaker(self, part: str) -> bool:
        """Return whether a part begins with the speaker, or with a verb that means them alone."""
        return (self.own.match(part) or self.lasting.match(part) or self.home.match(part)) is not None

    def without_opening(self, text: str) -> str:
        """Return a sentence without the words that join it to what was said before: `und`, `pero`."""
        return self.openings.sub("", text)


def detect_language(text: str) -> LanguageProfile | None:
    """Return the profile of a sentence's language; None for English.

    >>> detect_language("Ich wohne in Berlin.") is not None, detect_language("I live in Berlin.")
    (True, None)
    """
    profiles = _profiles()
    if not text.isascii():
        for code, script in _SCRIPTS.items():
            if script.search(text):
                return profiles[code]
    words = [word.lower() for word in _WORD.findall(text)]
    if words and _LATIN.search(text) is None:
        return _other(text)
    english = sum(word in _ENGLISH or is_third_person(word) for word in words)
    best = max((profiles["de"], profiles["fr"], profiles["es"]), key=lambda known: _common(known, words))
    common = _common(best, words)
    if english <= 1 and not any(is_finite(word) for word in words if word not in _ENGLISH):
        language = text_language(folded_words(text), text)
        code = _CODES.get(language, "other")
        if english == 0 and code != "other" and _names_speaker(profiles[code], text):
            return profiles[code]
        if language not in _PROFILED:
            return _other(text)
        if common <= english and _names_speaker(profiles["other"], text):
            return _other(text)
    elif profiles["other"].asks.match(text) and text_language(folded_words(text), text) not in _PROFILED:
        return _other(text)  # `wat is de beste bakker in Gent`
    return best if common > english or (0 < common == english and _names_speaker(best, text)) else None


def _other(text: str) -> LanguageProfile:
    """Return the profile in whose language a text says or asks most of its speaker, and hedges least."""
    plain = text.rstrip(_END)

    def likelihood(profile: LanguageProfile) -> tuple[int, int, int]:
        said = len(profile.own.findall(plain)) + len(profile.asks.findall(plain))
        return said, -len(profile.hedges.findall(plain)), len(profile.lasting.findall(plain))

    return max((_profiles()[code] for code in _other_codes()), key=likelihood)


def _common(profile: LanguageProfile, words: Iterable[str]) -> int:
    return sum(word in profile.common_words for word in words)


def _names_speaker(profile: LanguageProfile, text: str) -> bool:
    """Return whether a word means the speaker in that language and nothing in English: `Ich lebe in Mainz`."""
    return any(match[0].lower() not in _ENGLISH | _UNSURE for match in profile.own.finditer(text))


def states_personal_fact(text: str, profile: LanguageProfile, *, is_note: bool) -> bool:
    """Return whether a non-English sentence states something about its speaker, or in a note what has changed."""
    plain = text.rstrip(_END)
    least = MIN_SENTENCE_CHARS if plain.isascii() else _MIN_CJK_SENTENCE_CHARS
    if not least <= len(plain) <= MAX_SENTENCE_CHARS or _COLON.search(plain):
        return False
    if QUESTION_MARK.search(plain) or profile.asks.search(plain):
        return False
    is_own = profile.own.search(plain) is not None
    return (is_own or (is_note and has_change_word(plain))) and profile.hedges.search(plain) is None


def is_permanent(text: str, profile: LanguageProfile) -> bool:
    """Return whether it states identity as opposed to an event."""
    return profile.lasting.search(text) is not None


@cache
def words_of_all(kind: str) -> re.Pattern[str]:
    """Return the pattern of a kind of words, such as `home` or `ended`, in all languages."""
    return _pattern(_tables().values(), kind)


@cache
def _tables() -> dict[str, dict[str, list[str]]]:
    paths = (path for path in sorted(_FOLDER.glob("*.toml")) if path.stem != "en")
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in paths}


@cache
def _other_codes() -> list[str]:
    """Return the languages without words, or a script, by which they are told from English."""
    return [code for code, table in _tables().items() if "common" not in table and code not in _SCRIPTS]


@cache
def _profiles() -> dict[str, LanguageProfile]:
    """Return the languages by their codes, and the others together as `other`."""
    tables = _tables()
    every = {code: _profile([table]) for code, table in tables.items()}
    return every | {"other": _profile([tables[code] for code in _other_codes()])}


def _profile(tables: list[dict[str, list[str]]]) -> LanguageProfile:
    common = " ".join(str(table.get("common", "")) for table in tables)
    return LanguageProfile(
        word_set(common),
        _pattern(tables, "own"),
        _pattern(tables, "hedges"),
        _pattern(tables, "asks"),
        _pattern(tables, "lasting"),
        re.compile(rf"^(?:{_pattern(tables, 'openings').pattern}(?:[,.!:\s\u2026\u2013-]+))+", re.IGNORECASE),
        _pattern(tables, "home"),
    )


def _pattern(tables: Iterable[Mapping[str, list[str]]], kind: str) -> re.Pattern[str]:
    spaced = [entry for table in tables if table.get("has_spaces", True) for entry in table.get(kind, ())]
    within = [entry for table in tables if not table.get("has_spaces", True) for entry in table.get(kind, ())]
    parts = [rf"\b(?:{'|'.join(spaced)})\b"] * bool(spaced) + within
    return re.compile(f"(?:{'|'.join(parts)})", re.IGNORECASE) if parts else _NEVER
