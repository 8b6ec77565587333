"""Titles of documents: from metadata, the first heading, the file name or the first line."""

import re

MAX_TITLE_CHARACTERS = 80
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*)$|^(\S.*)\n=+[ \t]*$|<h1[^<>]{0,200}>([^<]+)</h1>", re.MULTILINE)
_MARKUP = re.compile(r"^[\s>#*+|-]+|\*{1,3}|`{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_IMAGE_OR_TAG = re.compile(r"!\[[^\[\]]{0,300}\]\([^()]{0,500}\)|<[^<>\n]{1,500}>")
_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
_ANY_MARKUP = re.compile(r"[*_`<\[\]>#|]")
_GENERIC_TITLE = re.compile(
    r"^(?:Microsoft (?:Word|PowerPoint|Excel) - )|^(?:untitled|title|document\d*)$", re.IGNORECASE
)
_GENERIC_FILENAMES = frozenset({"", "upload", "file", "blob", "document", "unknown"})
_FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\n((?:.*\n){0,100}?)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)")
"""Fields before the text of a Markdown file, as YAML or TOML."""
_FRONT_TITLE = re.compile(
    r"""^title[ \t]*[:=][ \t]*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'>|\[{].*))[ \t]*$""", re.MULTILINE
)
_KINDS_WITH_HEADING_TITLE = frozenset({"markdown", "webpage"})
"""Kinds whose first heading is the title; elsewhere the first heading is often a section."""


def document_title(
    text: str, kind: str, *, metadata_title: str | None = None, filename: str | None = None
) -> str | None:
    """Return a title of at most 80 characters on one line; None for a text without words."""
    if metadata_title is None and kind == "markdown":
        metadata_title = _front_matter_title(text)
    own = _normalize_title(_GENERIC_TITLE.sub("", (metadata_title or "").strip()))
    if not own and kind in _KINDS_WITH_HEADING_TITLE and (match := _HEADING.search(text[:20_000])):
        own = _normalize_title(strip_markdown(next(filter(None, match.groups())).rstrip(" \t#")))
    return own or _title_from_filename(filename) or _title_from_first_line(text)


def strip_markdown(line: str) -> str:
    """Remove marks, pictures and tags from a line of Markdown."""
    if _ANY_MARKUP.search(line) is None and not line.lstrip().startswith(("+", "-")):
        return " ".join(line.split())  # fast path: most lines have no markup
    return " ".join(_MARKUP.sub("", _LINK.sub(r"\1", _IMAGE_OR_TAG.sub("", line))).split())


def truncate(text: str, max_characters: int = MAX_TITLE_CHARACTERS) -> str:
    """Cut a longer text at a word and add an ellipsis.

    >>> truncate("one two three", 9)
    'one two…'
    """
    if len(text) <= max_characters:
        return text
    head = text[: max_characters - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > max_characters // 2 else head).rstrip(" ,;:.") + "…"


def _normalize_title(text: str) -> str:
    return truncate(" ".join(text.replace("\x00", "").split()))


def _front_matter_title(text: str) -> str | None:
    fields = _FRONT_MATTER.match(text)
    title = _FRONT_TITLE.search(fields[2]) if fields else None
    return next(filter(None, title.groups())) if title else None


def _title_from_filename(filename: str | None) -> str | None:
    name = re.split(r"[\\/]", filename or "")[-1].strip()
    return _normalize_title(name) or None if name.lower() not in _GENERIC_FILENAMES else None


def _title_from_first_line(text: str) -> str | None:
    for line in text[:20_000].splitlines():
        words = _normalize_title(strip_markdown(line))
        if any(character.isalnum() for character in words):
            return words
    return None
