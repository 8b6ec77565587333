"""What somebody has or does by its kind: `2 black cats` are cats. Who has no cats has none of them."""

import re

from pipeline.memory.verbs import words

_MANY = words("several many some any numerous countless various both all")
_SUCH = words(
    "big small large tiny huge long short tall old new young older younger elder own used cheap expensive "
    "beautiful nice lovely cute good great strong black white red blue green yellow brown grey gray orange "
    "pink purple silver golden electric heavy strict lifelong registered qualified certified senior junior"
)
"""What only says which ones. Not `hot`, `toy` or `oat`: hot dogs are no dogs."""
_POSSESSED = words("have drive ride rent keep wear is")
_CONSUMED = words("eat drink smoke take use")
_PORTION = re.compile(r"^(?:lots?|plenty|couple|pair|dozens?) of ")
_PLURALS = {"children": "child", "kids": "child", "kid": "child"}
_NAMED = words("named called")
_GOES_ON = words(
    "with in on at for from by of to every each since until during before after near around as about a per "
    "twice once when while without and only mostly"
)
"""Words after which a phrase is only said in more detail; others make another thing of it."""


def goes_on(following: str) -> bool:
    """Whether a word only says in more detail what stands before it."""
    return following in _GOES_ON or following[0].isdigit()


def singular(word: str) -> str:
    """One form for one and several, not always a word.

    >>> singular("cats"), singular("children"), singular("glass")
    ('cat', 'child', 'glas')
    """
    return _PLURALS.get(word, word.removesuffix("s"))


def kind(attribute: str, value: str) -> str:
    """What a value is, without how many, and of what somebody has or takes without which ones.

    >>> kind("have", "2 black cats named mimi"), kind("like", "dark chocolate"), kind("have", "car loan")
    ('cat', 'dark chocolate', 'car loan')
    """
    return _kind(value, described=attribute in _POSSESSED or attribute in _CONSUMED)


def is_bare(attribute: str, value: str) -> bool:
    """Whether a value is no more than a kind: `cats`, not `two cats`, nor `cats at home`."""
    *before, last = value.split()
    return kind(attribute, value) == " ".join([*before, singular(last)])


def is_of(attribute: str, value: str, denied: str) -> bool:
    """Whether somebody who has `denied` no more (bare) has no `value` either."""
    return kind(attribute, value) == kind(attribute, denied)


def ends(attribute: str, value: str, denied: str) -> bool:
    """Whether `value` shows that they have or do after all what was denied (bare).

    Who drinks no tea may drink green tea; who has no car has no green one.
    """
    return _kind(value, described=attribute in _POSSESSED) == kind(attribute, denied)


def _kind(value: str, *, described: bool) -> str:
    said = _PORTION.sub("", value).split()
    last = len(said) - 1
    begin = 0
    while begin < last and _is_before(said[begin], described=described):
        begin += 1
    end = begin + 1
    while end < len(said) and not (goes_on(said[end]) or said[end] in _NAMED):
        end += 1
    return " ".join([*said[begin : end - 1], singular(said[end - 1])])


def _is_before(word: str, *, described: bool) -> bool:
    return word.isdigit() or word in _MANY or (described and word in _SUCH)
