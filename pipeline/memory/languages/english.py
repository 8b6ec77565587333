"""English words that the grammar, the attributes and the score of a memory go by, from `en.toml`."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("en.toml")


@cache
def english_words(kind: str) -> frozenset[str]:
    """Return the words of a kind.

    >>> "diabetic" in english_words("traits")
    True
    """
    listed = _tables()[kind]
    return frozenset(listed.split() if isinstance(listed, str) else listed)


def english_pattern(kind: str) -> str:
    """Return the alternatives of a kind as one pattern, in their order."""
    return "|".join(_tables()[kind])


def english_spelling() -> list[tuple[str, re.Pattern[str], str]]:
    """Return how messages are spelt: a hint, the pattern, and how it is written."""
    return [(hint, re.compile(said, re.IGNORECASE), written) for hint, said, written in _tables()["spelling"]]


@cache
def english_synonyms() -> dict[str, str]:
    """Return the attributes by their other names: `wife` is the spouse."""
    return {other: name for name, others in _tables()["synonyms"].items() for other in others}


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


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text("utf-8"))
