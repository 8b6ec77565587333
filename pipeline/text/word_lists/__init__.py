"""Lists of words in 22 languages, a file each, and the patterns that find them.

A list holds whole words and phrases (`_` for a space); `stem-` is the beginning of a word, `-end` its end, and `*part`
is found anywhere, since Chinese, Japanese and Thai have no spaces. The lists of all languages are searched at once,
because a short statement seldom shows its language; what means something else in another one is left out. In
`relatives`, `animals`, `numerals` and `weekdays`, each line holds the words for one meaning, and the last paragraph
those that may have any.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_WHOLE, _STEM = "\t", "\n"
"""Marks at the end of an entry, which sort before all letters."""
_IN_WORDS = {_WHOLE: "(?= )", _STEM: ""}
_AS_WRITTEN = {_WHOLE: r"(?!\w)", _STEM: "", " ": r"\s+", "'": "['\u2019]"}


def read_list(name: str) -> str:
    """Return the entries of a list, with its lines and paragraphs."""
    return (_FOLDER / f"{name}.txt").read_text("utf-8")


def list_pattern(entries: Iterable[str], *, as_written: bool = False) -> str:
    """Return a pattern of all entries, the longer before the shorter.

    It finds them in case-folded words with one space before and after each, or in a text `as_written`.
    """
    begin, signs = (r"(?<!\w)", _AS_WRITTEN) if as_written else (" ", _IN_WORDS)
    listed = {entry.replace("_", " ") for entry in entries}
    words = [
        f"{word.removesuffix('-')}{_STEM if word.endswith('-') else _WHOLE}" for word in listed if word[0] not in "*-"
    ]
    ends = sorted(rf"[^ ]+{word[1:]}{signs[_WHOLE]}" for word in listed if word[0] == "-")
    parts = [f"{word[1:]}{_STEM}" for word in listed if word[0] == "*"]
    whole = f"{begin}(?:{'|'.join([_branches(words, signs), *ends])})"
    return rf"{whole}|(?=[^\x00-\x7f]){_branches(parts, signs)}" if parts else whole


@cache
def list_meanings(name: str) -> dict[str, frozenset[int]]:
    """Return the lines of a list in which each word stands; none for words that may have any meaning."""
    lines, _, anything = read_list(name).casefold().strip().partition("\n\n")
    found: dict[str, set[int]] = {word: set() for word in anything.split()}
    for meaning, line in enumerate(lines.split("\n")):
        for word in line.split():
            found.setdefault(word.strip("*-").replace("_", " "), set()).add(meaning)
    return {word: frozenset(meanings) for word, meanings in found.items()}


def _branches(entries: Iterable[str], signs: Mapping[str, str]) -> str:
    """Return a pattern of all entries that reads what they begin with in common only once."""
    rests: dict[str, list[str]] = {}
    for entry in sorted(entries, reverse=True):
        rests.setdefault(entry[0], []).append(entry[1:])
    found = [
        signs.get(first, first) + (_branches(rest, signs) if rest != [""] else "") for first, rest in rests.items()
    ]
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"
