"""Canonical text to passages of at most `size` characters, cut where its structure allows.

A transcript is cut between turns, into shorter passages than prose: a turn says one thing, and what stands
around it is counted with it anyway (`pipeline/text/surroundings.py`).
Markdown is cut by its blocks and headings, other texts by paragraphs and sentences (semantic-text-splitter).
Source code has a rule of its own: at a blank line before a line that is not indented, else at a blank line,
else at a line's end. Grammars would cut a little better, but each language is one more native package.

semantic-text-splitter is quadratic on long runs without structure (one line of 1 MB takes seconds), so long
texts are first cut into segments, at headings where there are any: the whole is linear.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from pipeline.extraction.titles import plain, shortened
from pipeline.memory.speakers import turns
from schemas.events import ChunkSpan

MARKDOWN = frozenset(
    {"markdown", "webpage", "docx", "pptx", "xlsx", "pdf", "csv", "doc", "ppt", "xls", "odt", "ods"}
)
"""Kinds whose canonical text is Markdown: written so, or made so by the extractor."""
SEGMENT = 16_384
SEPARATOR = " > "
TALK = 300
"""Characters of a transcript's passage, whole turns. With 800, five percent less of LoCoMo's evidence stands
within the first 720 tokens of an answer (docs/benchmarks.md)."""
_OUTLINE = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,})[^\n]*|(?P<level>#{1,6})[ \t]+(?P<title>[^\n]*))$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Outline:
    """Where headings and fenced blocks begin. `paths` has the heading path from each start on."""

    starts: list[int]
    paths: list[str]
    fences: list[tuple[int, int]]

    def path(self, position: int) -> str | None:
        """The headings above a position, or at it."""
        at = bisect_right(self.starts, position)
        return self.paths[at - 1] if at else None


class StructuredSplitter:
    """`ports.Splitter`. Every span's text is exactly `text[start:end]`, without white space around it."""

    def __init__(self, size: int = 800, *, talk: int = TALK) -> None:
        self._size = size
        self._turns = min(talk, size)
        self._markdown = MarkdownSplitter(size)
        self._text = TextSplitter(size)

    def split(self, text: str, kind: str) -> list[ChunkSpan]:
        """Passages in order. `kind` is a document's type; `heading` is set where the text is Markdown."""
        if kind == "code":
            return [ChunkSpan(start=start, end=end, text=text[start:end]) for start, end in self._code(text)]
        headings = outline(text) if kind in MARKDOWN else Outline([], [], [])
        if said := turns(text):
            return list(self._talk(text, said, headings))
        return list(_spans(self._markdown if kind in MARKDOWN else self._text, text, headings))

    def _talk(self, text: str, said: Sequence[tuple[int, int]], headings: Outline) -> Iterator[ChunkSpan]:
        for start, end in _packed(said, self._turns):
            if end - start > self._size:
                yield from _spans(self._text, text, headings, start, end)
            elif passage := text[start:end].strip():
                at = text.index(passage, start)
                yield ChunkSpan(start=at, end=at + len(passage), text=passage, heading=headings.path(at))

    def _code(self, text: str) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(text):
            end = _code_end(text, start, self._size)
            first, last = _trimmed(text, start, end)
            if first < last:
                yield first, last
            start = end


def outline(text: str) -> Outline:
    """The headings of a Markdown text, as paths (`Guide > Install > Linux`), and its fenced blocks."""
    found = Outline([], [], [])
    above: list[tuple[int, str]] = []
    fence: tuple[int, str] | None = None
    for match in _OUTLINE.finditer(text):
        mark = match["fence"]
        if mark and fence is None:
            fence = (match.start(), mark)
        elif mark and fence is not None and mark.startswith(fence[1]):
            found.fences.append((fence[0], match.end()))
            fence = None
        elif not mark and fence is None and (title := plain(match["title"].rstrip("# \t\r"))):
            level = len(match["level"])
            above = [*(one for one in above if one[0] < level), (level, shortened(title))]
            found.starts.append(match.start())
            found.paths.append(SEPARATOR.join(name for _, name in above))
    return found


def _packed(said: Sequence[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """Turns joined as long as they fit; a longer one by itself."""
    first, last = said[0]
    for start, end in said[1:]:
        if end - first > size:
            yield first, last
            first = start
        last = end
    yield first, last


def _spans(
    splitter: MarkdownSplitter | TextSplitter,
    text: str,
    headings: Outline,
    first: int = 0,
    last: int | None = None,
) -> Iterator[ChunkSpan]:
    for start, end in _segments(text, headings, first, len(text) if last is None else last):
        for offset, passage in splitter.chunk_indices(text[start:end]):
            at = start + offset
            yield ChunkSpan(start=at, end=at + len(passage), text=passage, heading=headings.path(at))


def _segments(text: str, headings: Outline, start: int, last: int) -> Iterator[tuple[int, int]]:
    while last - start > SEGMENT:
        end = _segment_end(text, start, headings)
        yield start, end
        start = end
    yield start, last


def _segment_end(text: str, start: int, headings: Outline) -> int:
    """The best place to cut in the second half of a segment: at a heading, paragraph, line or word."""
    low, high = start + SEGMENT // 2, start + SEGMENT
    at = bisect_right(headings.starts, high) - 1
    if at >= 0 and headings.starts[at] > low:
        return headings.starts[at]
    cut = next(
        (found + len(mark) for mark in ("\n\n", "\n", " ") if (found := text.rfind(mark, low, high)) >= 0),
        high,
    )
    block = bisect_left(headings.fences, (cut, cut)) - 1
    if block >= 0 and low < headings.fences[block][0] < cut < headings.fences[block][1]:
        return headings.fences[block][0]
    return cut


def _code_end(text: str, start: int, size: int) -> int:
    if len(text) - start <= size:
        return len(text)
    high = start + size
    for mark, least in (("\n\n\n", size // 4), ("\n\n", size // 4), ("\n", 1)):
        found = _last_break(text, mark, start + least, high)
        if found is not None:
            return found
    return high


def _last_break(text: str, mark: str, low: int, high: int) -> int | None:
    """The end of the last `mark` in the range; of a blank line preferably one before an unindented line."""
    found = text.rfind(mark, low, high)
    last = found
    while mark == "\n\n" and found >= 0 and text[found + 2 : found + 3].isspace():
        found = text.rfind(mark, low, found)
    best = found if found >= 0 else last
    return best + len(mark) if best >= 0 else None


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without blank lines around it; the first line keeps its indentation."""
    piece = text[start:end]
    end -= len(piece) - len(piece.rstrip())
    indent = len(piece) - len(piece.lstrip())
    newline = piece.rfind("\n", 0, indent)
    return start + newline + 1, end
