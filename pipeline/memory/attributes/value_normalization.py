"""Normalization of phrases to values: folded case, no filler words, numbers as digits."""

import re

from pipeline.memory.languages.english import english_numbers, english_pattern, english_words

MAX_VALUE_WORDS = 6
"""Words of a value; longer phrases are descriptions."""
MAX_PREDICATE_OBJECT_WORDS = 10
_SAME = {
    "colour": "color", "colours": "colors", "favourite": "favorite", "movie": "film", "movies": "films",
    "kids": "children", "kid": "child", "canceled": "cancelled", "e-mail": "email", "timezone": "time zone",
}  # fmt: skip
NEUTRAL = english_pattern("neutral_adverbs")
_TRAILING = re.compile(rf"(?:,? (?:{NEUTRAL}))+$")
_ARTICLE = re.compile(r"^(?:an?|the|my|their|our|his|her|its|some)\s+")
_SPACES = re.compile(r"\s+")
_VAGUE = re.compile(rf"\b(?:{english_pattern('vague_words')})\b")
_CLAUSE = re.compile(rf"\b(?:{english_pattern('clause_words')})\b")
_ARTICLES = re.compile(r" (?:an?|the|my|their|our|his|her|its|some)(?= )")
_ONE_OF_SEVERAL = re.compile(rf"'s (?:[a-z-]+ )*?(?:{english_pattern('relations_of_several')})$")
_OF_ITS_TEXT = english_words("things_of_a_text")
_NOBODY = english_words("no_subjects")


def normalize_phrase(text: str) -> str:
    """Normalize a phrase: folded, without leading articles and trailing words like `now`.

    >>> normalize_phrase("The Golf now"), normalize_phrase("two kids")
    ('golf', '2 children')
    """
    folded = _SPACES.sub(" ", text.casefold().replace("\u2019", "'")).strip(" .,!'\"*`")
    folded = _ARTICLE.sub("", _TRAILING.sub("", folded)).strip(" .,!'\"*`")
    numbers = english_numbers()
    return " ".join(_SAME.get(word, numbers.get(word, word)) for word in folded.split())


def strip_present_adverbs(text: str) -> str:
    """Remove adverbs that merely say that the text is true now.

    >>> strip_present_adverbs("User gets up at 7 now")
    'User gets up at 7'
    """
    return _TRAILING.sub("", text)


def parse_value(text: str) -> str | None:
    """Normalize a phrase as a value; None if it is too long or too vague."""
    value = normalize_phrase(text)
    return None if not value or len(value.split()) > MAX_VALUE_WORDS or _VAGUE.search(value) else value


def parse_subject(text: str) -> str | None:
    """Normalize a phrase as a subject; None for pronouns, and for `my sister` where there may be two."""
    subject = normalize_phrase(text)
    if not subject or subject.split()[0] in _NOBODY or len(subject.split()) > MAX_VALUE_WORDS:
        return None
    if subject in _OF_ITS_TEXT or _ONE_OF_SEVERAL.search(subject):
        return None
    return None if _VAGUE.search(subject) else subject


def parse_predicate_object(text: str) -> str | None:
    """Normalize an object without articles; None if it continues with another clause."""
    value = _ARTICLES.sub(" ", f" {normalize_phrase(text)}").strip()
    return None if not value or len(value.split()) > MAX_PREDICATE_OBJECT_WORDS or _CLAUSE.search(value) else value
