"""Hypernyms of values: `2 black cats` are cats, so they contradict having no cats."""

import re

from pipeline.memory.languages.english import english_words
from pipeline.text.english_verbs import word_set

_MANY = word_set("several many some any numerous countless various both all")
_SUCH = english_words("selecting_adjectives")
_POSSESSED = word_set("have drive ride rent keep wear is")
_CONSUMED = word_set("eat drink smoke take use")
_PORTION = re.compile(r"^(?:lots?|plenty|couple|pair|dozens?) of ")
_PLURALS = {"children": "child", "kids": "child", "kid": "child"}
_NAMED = word_set("named called")
_GOES_ON = english_words("postmodifiers")


def is_postmodifier(word: str) -> bool:
    """Return whether a word only adds detail to the phrase before it."""
    return word in _GOES_ON or word[0].isdigit()


def singular(word: str) -> str:
    """Return one form for singular and plural, not always a word.

    >>> singular("cats"), singular("children"), singular("glass")
    ('cat', 'child', 'glas')
    """
    return _PLURALS.get(word, word.removesuffix("s"))


def hypernym(attribute: str, value: str) -> str:
    """Return a value without its count and, for possessions and habits, without its modifiers.

    >>> hypernym("have", "2 black cats named mimi"), hypernym("have", "car loan")
    ('cat', 'car loan')
    >>> hypernym("like", "dark chocolate")
    'dark chocolate'
    """
    return _hypernym(value, drop_adjectives=attribute in _POSSESSED or attribute in _CONSUMED)


def is_bare_hypernym(attribute: str, value: str) -> bool:
    """Return whether a value is only a kind: `cats`, not `two cats`, nor `cats at home`."""
    *modifiers, noun = value.split()
    return hypernym(attribute, value) == " ".join([*modifiers, singular(noun)])


def has_same_hypernym(attribute: str, value: str, denied: str) -> bool:
    """Return whether denying a bare kind also denies the value."""
    return hypernym(attribute, value) == hypernym(attribute, denied)


def refutes_denial(attribute: str, value: str, denied: str) -> bool:
    """Return whether a value refutes the denial of a bare kind.

    `green tea` does not refute drinking no tea; `a green car` refutes having no car.
    """
    return _hypernym(value, drop_adjectives=attribute in _POSSESSED) == hypernym(attribute, denied)


def _hypernym(value: str, *, drop_adjectives: bool) -> str:
    words = _PORTION.sub("", value).split()
    last = len(words) - 1
    begin = 0
    while begin < last and _is_premodifier(words[begin], drop_adjectives=drop_adjectives):
        begin += 1
    end = begin + 1
    while end < len(words) and not (is_postmodifier(words[end]) or words[end] in _NAMED):
        end += 1
    return " ".join([*words[begin : end - 1], singular(words[end - 1])])


def _is_premodifier(word: str, *, drop_adjectives: bool) -> bool:
    return word.isdigit() or word in _MANY or (drop_adjectives and word in _SUCH)
