"""English words that the grammar, the attributes and the score of a memory go by, from `en.toml` and its siblings."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.text.english_nouns import KIN, RELATIVES, is_plural
from pipeline.text.succession import WISHED
from pipeline.text.temporal_expressions import DAYS, MONTHS

_FOLDER = Path(__file__).parent
_NAMED_LIST = re.compile(r"\{([a-z_]+)\}")


@cache
def english_words(kind: str) -> frozenset[str]:
    """Return the words of a kind.

    >>> "diabetic" in english_words("traits")
    True
    """
    return frozenset(_listed(kind))


def english_pattern(kind: str) -> str:
    """Return the alternatives of a kind as one pattern, in their order.

    >>> english_pattern("seasons")
    'spring|summer|autumn|fall|winter'
    """
    return _filled("|".join(_listed(kind)))


def english_forms(kind: str) -> dict[str, str]:
    """Return other forms by the words that they are of.

    >>> english_forms("done")["sell"]
    'sold'
    """
    return dict(pair.split("=") for pair in _listed(kind))


@cache
def english_numbers() -> dict[str, str]:
    """Return digits by their names.

    >>> english_numbers()["twelve"]
    '12'
    """
    return {name: str(number) for number, name in enumerate(_listed("numerals"))}


@cache
def english_marks(kind: str) -> dict[str, re.Pattern[str]]:
    """Return what statements may say, each by its name with the pattern that tells of it.

    >>> english_marks("marks")["wish"].search("User would like a dog") is not None
    True
    """
    return {name: re.compile(_filled("|".join(patterns))) for name, patterns in _tables()[kind].items()}


def english_spelling() -> list[tuple[str, re.Pattern[str], str]]:
    """Return how messages are spelt: a hint, the pattern, and how it is written."""
    return [(hint, re.compile(_filled(said), re.IGNORECASE), written) for hint, said, written in _tables()["spelling"]]


def english_rewrites(kind: str) -> list[tuple[re.Pattern[str], str]]:
    """Return patterns of how something is said, each with what is written for it."""
    return [(re.compile(_filled("".join(parts)), re.IGNORECASE), written) for *parts, written in _tables()[kind]]


@cache
def english_groups(kind: str) -> dict[str, str]:
    """Return words and phrases with what they mean alike.

    >>> english_groups("synonyms")["wife"]
    'spouse'
    """
    return {said: meant for meant, alike in _tables()[kind].items() for said in alike}


@cache
def state_changes() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return states that pass, each by its name: what tells of it, and what says that it is over.

    >>> [pattern.search("User gave birth") is not None for pattern in state_changes()["pregnant"]]
    [False, True]
    """
    return {
        name: (re.compile(state, re.IGNORECASE), re.compile(end, re.IGNORECASE))
        for name, (state, end) in _tables()["state_changes"].items()
    }


@cache
def kinds_of_one() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return classes of which one thing holds at a time: words of their context, and a group for each thing.

    >>> context, things = kinds_of_one()["commute"]
    >>> context.search("User walks to work") is not None, things.search("walks").lastgroup
    (True, 'thing7')
    """
    return {
        name: (
            re.compile(context, re.IGNORECASE),
            re.compile("|".join(f"(?P<thing{at}>{thing})" for at, thing in enumerate(things)), re.IGNORECASE),
        )
        for name, (context, *things) in _tables()["one_at_a_time"].items()
    }


@cache
def fact_kinds() -> dict[str, re.Pattern[str]]:
    """Return by the words for a kind of fact the pattern of the user's facts of that kind.

    >>> fact_kinds()["medicine"].match("User takes lisinopril every morning") is not None
    True
    """
    return {word: re.compile(said) for words, said in _tables()["fact_kinds"].values() for word in words.split()}


def _listed(kind: str) -> list[str]:
    listed = _tables()[kind]
    return listed.split() if isinstance(listed, str) else listed


def _filled(pattern: str) -> str:
    """Return a pattern where `{months}` stands for the alternatives of the list of that name."""
    return _NAMED_LIST.sub(lambda named: english_pattern(named[1]), pattern)


@cache
def _tables() -> dict[str, Any]:
    shared = {"days": DAYS, "months": MONTHS, "relatives": sorted(RELATIVES), "wished": [WISHED]}
    shared["plural_kin"] = sorted(filter(is_plural, KIN))
    texts = (path.read_text("utf-8") for path in _FOLDER.glob("en*.toml"))
    return {kind: listed for text in texts for kind, listed in tomllib.loads(text).items()} | shared
