"""The title of a document: what its format says, the file's name, or the beginning of its text."""

import re

LENGTH = 80
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(\S.*)$|^(\S.*)\n=+[ \t]*$|<h1[^<>]{0,200}>([^<]+)</h1>", re.MULTILINE
)
_MARKS = re.compile(r"^[\s>#*+|-]+|\*{1,3}|`{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_PICTURE = re.compile(r"!\[[^\[\]]{0,300}\]\([^()]{0,500}\)|<[^<>\n]{1,500}>")
_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
_MARKED = re.compile(r"[*_`<\[\]>#|]")
_JUNK = re.compile(
    r"^(?:Microsoft (?:Word|PowerPoint|Excel) - )|^(?:untitled|title|document\d*)$", re.IGNORECASE
)
_NAMELESS = frozenset({"", "upload", "file", "blob", "document", "unknown"})
_WRITTEN = frozenset({"markdown", "webpage"})
"""Kinds whose first heading is their title; in other formats a heading is just the first one."""


def title_of(text: str, kind: str, *, given: str | None = None, filename: str | None = None) -> str | None:
    """At most 80 characters, on one line; None for a text without words."""
    own = _clean(_JUNK.sub("", (given or "").strip()))
    if not own and kind in _WRITTEN and (found := _HEADING.search(text[:20_000])):
        own = _clean(plain(next(filter(None, found.groups())).rstrip(" \t#")))
    return own or _named(filename) or _first_line(text)


def plain(line: str) -> str:
    """A line of Markdown without its marks, pictures and tags."""
    if _MARKED.search(line) is None and not line.lstrip().startswith(("+", "-")):
        return " ".join(line.split())  # most lines: nothing below would find anything
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", _PICTURE.sub("", line))).split())


def shortened(text: str, length: int = LENGTH) -> str:
    """Cut at a word, with an ellipsis, where it is longer.

    >>> shortened("one two three", 9)
    'one two…'
    """
    if len(text) <= length:
        return text
    head = text[: length - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > length // 2 else head).rstrip(" ,;:.") + "…"


def _clean(text: str) -> str:
    return shortened(" ".join(text.replace("\x00", "").split()))


def _named(filename: str | None) -> str | None:
    name = re.split(r"[\\/]", filename or "")[-1].strip()
    return _clean(name) or None if name.lower() not in _NAMELESS else None


def _first_line(text: str) -> str | None:
    for line in text[:20_000].splitlines():
        words = _clean(plain(line))
        if any(character.isalnum() for character in words):
            return words
    return None
