"""The language of a sentence, by its letters and by words that only one of them has. Pure."""

import re
from collections.abc import Iterable

from pipeline.memory.languages.english import english_words
from pipeline.memory.languages.profiles import END, MIN_GREETING_CHARS, SCRIPTS, WORD, LanguageProfile, all_profiles
from pipeline.text.analyzer import detect_language as text_language
from pipeline.text.analyzer import words as folded_words
from pipeline.text.english_verbs import BASES, is_finite, is_third_person, word_set
from pipeline.text.statement_words import (
    has_change_word,
    tells_of_own,
)
from pipeline.text.stopwords import STOPWORDS

_LATIN = re.compile("[a-z]", re.IGNORECASE)
_ONLY_SCRIPTS = {
    "ko": re.compile("[\uac00-\ud7af]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "el": re.compile("[\u0370-\u03ff]"),
}
"""Scripts of one language that we have words of, whatever a sentence says."""
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_ENGLISH = english_words("common")
_UNSURE = word_set("am min mit mi mine vi ho io eu ma ja me con no or")
"""Words of speakers of other languages that are also English, or units and names."""
_SHARED = word_set("i in a me no or am as do so at on")
"""Words of English that others have too."""
_CODES = {"german": "de", "french": "fr", "spanish": "es"}
_PROFILED = frozenset({"english", "catalan", *_CODES})
_LATIN_CODES = frozenset({"cs", "fi", "hr", "hu", "id", "it", "nl", "pl", "pt", "ro", "sv", "tr", "vi"})
_ENGLISH_I = re.compile(r"\bI['\u2019](?:m|ve|ll|d)\b")
_MAY_BE_I = re.compile(r"\bI (?=[a-z])")
_IS_SOMEBODY = re.compile(r"\w+ (?:is|was) (?:a|an|the|my|our) ")
"""What an English statement says of a name that is a word of questions elsewhere."""


def detect_language(text: str, expected: LanguageProfile | None = None) -> LanguageProfile | None:
    """Return the profile of a sentence's language; None for English.

    `expected`: the language of the sentences before it, which decides between languages that it tells nothing of.

    >>> detect_language("Ich wohne in Berlin.") is not None, detect_language("I live in Berlin.")
    (True, None)
    """
    written = None if text.isascii() else next((code for code in SCRIPTS if SCRIPTS[code].search(text)), None)
    if written is not None or _ENGLISH_I.search(text):
        return None if written is None else all_profiles()[written]
    words = [word.lower() for word in WORD.findall(text)]
    found = _told_by_words(text, words, expected)
    is_sure = found is None or expected is None or _common(found, words) >= _MIN_COMMON
    return found if is_sure else expected


_MIN_STOPWORDS = 2
"""Stopwords by which a sentence without an English verb is in German, French or Spanish."""
_MIN_COMMON = 3
"""Words by which a sentence is in another language than those before it: `Mio fratello` is no Spanish among Italian."""


def _told_by_words(text: str, words: list[str], expected: LanguageProfile | None) -> LanguageProfile | None:
    profiles = all_profiles()
    if words and _LATIN.search(text) is None:
        return _other(text, expected)
    english = sum(word in _ENGLISH or is_third_person(word) for word in words)
    best = max((profiles["de"], profiles["fr"], profiles["es"]), key=lambda known: _likelihood(known, words, text))
    common = _common(best, words)
    is_accented = english <= 1 and any(not word.isascii() and word.islower() for word in WORD.findall(text))
    if english <= 1 and not any(is_finite(word) for word in words if word not in _ENGLISH):
        language = text_language(folded_words(text), text)
        code = _CODES.get(language, "other")
        if english == 0 and code != "other" and (_names_speaker(profiles[code], text) or tells_of_own(text)):
            return profiles[code]
        shown = (
            frozenset[str]() if code == "other" else profiles[code].stopwords.intersection(words) - _SHARED - STOPWORDS
        )
        if len(shown) >= _MIN_STOPWORDS and not _names_speaker(profiles["other"], text):
            return profiles[code]
        if language not in _PROFILED:
            return _other(text, expected)
        is_best = common > 0 and _names_speaker(best, text)
        if common <= max(english, 1) and not is_best and _names_speaker(profiles["other"], text):
            return _other(text, expected)
    elif text_language(folded_words(text), text) not in _PROFILED and (
        profiles["other"].asks.match(text) or (2 * english <= len(words) and _names_speaker(profiles["other"], text))
    ):
        return _other(text, expected)  # `wat is de beste bakker in Gent`
    if common == 1 and profiles["other"].asks.match(text) is not None and best.asks.search(text) is None:
        return _other(text, expected)  # `koliko je visok Velebit`, of which `je` is French too
    is_foreign = is_accented or _names_speaker(best, text)
    is_told = is_foreign or best.common_words.intersection(words) != {"no"}  # `no sugar, day 12` is not
    if (common > english and is_told) or (0 < common == english and is_foreign):
        return best
    # `o Thor morreu mês passado`
    return _other(text, expected) if is_doubtful(text) and has_change_word(text) else None


def likeliest_language(text: str) -> LanguageProfile:
    """Return the profile of a text that is known not to be English: by its script and by what says most in it."""
    return _other(text, None)


def is_doubtful(text: str, expected: LanguageProfile | None = None) -> bool:
    """Return whether a text has hardly a word by which it is English: `koffie is op`.

    `expected`: the language of the sentences before it, whose words tell nothing.

    >>> is_doubtful("koffie is op"), is_doubtful("coffee is for us"), is_doubtful("vi bor i ett hus in Lund")
    (True, False, True)
    """
    is_english = _MAY_BE_I.search(text) is not None  # `I go by Sam` has three words of Polish
    shared = _SHARED if expected is None or is_english else _SHARED | expected.stopwords
    words = [word.lower() for word in WORD.findall(text)]
    others = [word for word in words if word not in _ENGLISH | shared]
    english = sum(word in _ENGLISH - shared for word in words)
    is_verbal = any(is_finite(word) or word in BASES for word in others)
    known = sum(word in _ENGLISH for word in words)
    return not is_verbal and (known <= 1 or english == 0)


def asks_elsewhere(text: str) -> bool:
    """Return whether a text with hardly a word of English begins as questions or orders of another language do.

    >>> asks_elsewhere("ile wynosi czynsz"), asks_elsewhere("Kim is a nurse")
    (True, False)
    """
    other = all_profiles()["other"]
    is_asking = is_doubtful(text) and (other.asks.match(text) or other.orders.match(text)) is not None
    return is_asking and _IS_SOMEBODY.match(text) is None


def _likelihood(profile: LanguageProfile, words: Iterable[str], text: str) -> tuple[int, int]:
    return _common(profile, words), len(profile.own.findall(text))


def _other(text: str, expected: LanguageProfile | None) -> LanguageProfile:
    """Return the profile in whose language a text says or asks most of its speaker, and hedges least."""
    plain = text.rstrip(END)
    words = {word.lower() for word in WORD.findall(text)}

    def likelihood(profile: LanguageProfile) -> tuple[int, int, int, bool]:
        said = 2 * (len(profile.own.findall(plain)) + len(profile.asks.findall(plain))) + len(words & profile.stopwords)
        opening = profile.openings.match(plain)
        said += 2 * (opening is not None and len(opening[0]) >= MIN_GREETING_CHARS)
        doubts, lasts = len(profile.hedges.findall(plain)), len(profile.lasting.findall(plain))
        return said, -doubts, lasts, profile is expected

    codes = [code for code, script in _ONLY_SCRIPTS.items() if script.search(text)]
    if not codes:
        codes = ["ru", "uk"] if _CYRILLIC.search(text) is not None else sorted(_LATIN_CODES)
    return max((all_profiles()[code] for code in codes), key=likelihood)


def _common(profile: LanguageProfile, words: Iterable[str]) -> int:
    return sum(word in profile.common_words for word in words)


def _names_speaker(profile: LanguageProfile, text: str) -> bool:
    """Return whether a word means the speaker in that language and nothing in English: `Ich lebe in Mainz`."""
    return any(match[0].lower() not in _ENGLISH | _UNSURE for match in profile.own.finditer(text))
