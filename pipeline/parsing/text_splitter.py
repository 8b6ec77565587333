"""Splitter of canonical text into chunks of bounded size at structural boundaries.

Transcripts are cut between turns, into shorter chunks than prose: a turn says one thing, and the ranking
counts its neighbourhood anyway (`pipeline/text/context_terms.py`). Markdown is cut at blocks and headings,
other texts at paragraphs and sentences (semantic-text-splitter). Source code is cut at a blank line before an
unindented line, else at a blank line, else at a line end. Grammars would cut a little better, but each
language is one more native package.

semantic-text-splitter is quadratic on long runs without structure (one line of 1 MB takes seconds), so long
texts are first cut into segments, at headings if there are any: the total time is linear.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from pipeline.parsing.document_titles import strip_markdown, truncate
from pipeline.text.page_breaks import SHEET_TYPES, page_breaks, page_label
from pipeline.text.speaker_attribution import TurnSpan, transcript_turns
from schemas.events import ChunkSpan

MARKDOWN_KINDS = frozenset(
    {"markdown", "webpage", "docx", "pptx", "xlsx", "pdf", "csv", "doc", "ppt", "xls", "odt", "ods", "odp", "epub"}
    | {"archive", "calendar", "contacts"}
)
"""Kinds whose canonical text is Markdown, either as sent or as parsed."""
SEGMENT_CHARACTERS = 16_384
HEADING_SEPARATOR = " > "
TRANSCRIPT_CHUNK_CHARACTERS = 300
"""Length of a transcript's chunks, in whole turns. With 800, the first 720 tokens of an answer hold five
percent less of LoCoMo's evidence (decision record 0014)."""
_SHORT_TURN_CHARACTERS = 60
"""Length of a turn, with its name, that is joined to the one before it in a chat with an assistant."""
_OUTLINE_LINE = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,})[^\n]*|(?P<level>#{1,6})[ \t]+(?P<title>[^\n]*))$", re.MULTILINE
)
_TITLE_SHARE = 1 / 8
"""Greatest length of a title among passages, as a share of the longest passage."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Start offsets of headings with their paths, and spans of fenced blocks."""

    starts: list[int]
    heading_paths: list[str]
    fences: list[tuple[int, int]]

    def begins_at(self, position: int) -> bool:
        """Return whether a heading begins there."""
        at = bisect_left(self.starts, position)
        return at < len(self.starts) and self.starts[at] == position

    def heading_at(self, position: int) -> str | None:
        at = bisect_right(self.starts, position)
        return self.heading_paths[at - 1] if at else None


class StructuredSplitter:
    """`ports.TextSplitter`: every span's text is `text[start:end]`, without surrounding white space."""

    def __init__(self, max_characters: int = 800) -> None:
        self._max_characters = max_characters
        self._transcript_characters = min(TRANSCRIPT_CHUNK_CHARACTERS, max_characters)
        self._markdown = MarkdownSplitter(max_characters)
        self._text = TextSplitter(max_characters)

    def split(self, text: str, kind: str) -> list[ChunkSpan]:
        """Split a text of a document's type; spans of Markdown carry their heading path, and their page if known."""
        if kind == "code":
            return list(self._split_code(text))
        headings = parse_outline(text) if kind in MARKDOWN_KINDS else Outline([], [], [])
        if turns := transcript_turns(text):
            spans = list(self._split_transcript(text, turns, headings))
        else:
            splitter = self._markdown if kind in MARKDOWN_KINDS else self._text
            spans = list(_split_segments(splitter, self._max_characters, text, headings, (0, len(text))))
        if kind in SHEET_TYPES:
            return [span.model_copy(update={"page": _sheet_label(headings, span)}) for span in spans]
        if breaks := page_breaks(text, kind):
            return [span.model_copy(update={"page": page_label(breaks, span.start, span.end)}) for span in spans]
        return spans

    def _split_transcript(self, text: str, turn_spans: Sequence[TurnSpan], headings: Outline) -> Iterator[ChunkSpan]:
        for start, end in _pack_turns(turn_spans, self._transcript_characters):
            if end - start > self._max_characters:
                yield from _split_segments(self._text, self._max_characters, text, headings, (start, end))
            elif passage := text[start:end].strip():
                at = text.index(passage, start)
                yield ChunkSpan(start=at, end=at + len(passage), text=passage, heading=headings.heading_at(at))

    def _split_code(self, text: str) -> Iterator[ChunkSpan]:
        start = 0
        while start < len(text):
            end = _code_end(text, start, self._max_characters)
            first, last = _trim_span(text, start, end)
            if first < last:
                yield ChunkSpan(start=first, end=last, text=text[first:last])
            start = end


def parse_outline(text: str) -> Outline:
    """Find headings of a Markdown text, with paths like `Guide > Install > Linux`, and fenced blocks."""
    outline = Outline([], [], [])
    ancestors: list[tuple[int, str]] = []
    fence: tuple[int, str] | None = None
    for match in _OUTLINE_LINE.finditer(text):
        mark = match["fence"]
        if mark and fence is None:
            fence = (match.start(), mark)
        elif mark and fence is not None and mark.startswith(fence[1]):
            outline.fences.append((fence[0], match.end()))
            fence = None
        elif not mark and fence is None and (title := strip_markdown(match["title"].rstrip("# \t\r"))):
            level = len(match["level"])
            ancestors = [*((depth, name) for depth, name in ancestors if depth < level), (level, truncate(title))]
            outline.starts.append(match.start())
            outline.heading_paths.append(HEADING_SEPARATOR.join(name for _, name in ancestors))
    return outline


def _sheet_label(headings: Outline, span: ChunkSpan) -> str | None:
    paths = [headings.heading_at(position) for position in (span.start, span.end - 1)]
    names = [path.split(HEADING_SEPARATOR)[0] for path in paths if path]
    return "-".join(dict.fromkeys(names)) or None


def _pack_turns(turns: Sequence[TurnSpan], size: int) -> Iterator[tuple[int, int]]:
    """Join consecutive turns up to `size` characters; a longer turn stays alone.

    So does, in a chat with an assistant, every turn that is too long to be an answer to the one before it.
    """
    first, last = turns[0].start, turns[0].end
    with_assistant = any(turn.is_machine for turn in turns)
    for turn in turns[1:]:
        is_apart = with_assistant and turn.end - turn.start > _SHORT_TURN_CHARACTERS
        if is_apart or turn.end - first > size:
            yield first, last
            first = turn.start
        last = turn.end
    yield first, last


def _split_segments(
    splitter: MarkdownSplitter | TextSplitter, most: int, text: str, headings: Outline, place: tuple[int, int]
) -> Iterator[ChunkSpan]:
    """Split the text at a place into passages of at most `most` characters, as many as the splitter's."""
    for segment in _segments(text, headings, *place):
        for start, end in _passages(splitter, most, text, headings, segment):
            yield ChunkSpan(start=start, end=end, text=text[start:end], heading=headings.heading_at(start))


def _passages(
    splitter: MarkdownSplitter | TextSplitter, most: int, text: str, headings: Outline, place: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """Places of passages, in which a short line, as a title, is not cut off from what follows it.

    By itself it would be near to every question about its text, and answer none.
    """
    start, end = place
    while start < end:
        spans = [(start + at, start + at + len(passage)) for at, passage in splitter.chunk_indices(text[start:end])]
        start = end
        for (at, stop), after in zip_longest(spans, spans[1:]):
            room = most - (after[0] - at) if after and _is_title(text[at : after[0]], most) else 0
            if room < most // 2 or headings.begins_at(after[0]):
                yield at, stop
                continue
            cut, passage = type(splitter)(room).chunk_indices(text[slice(*after)])[0]
            start = after[0] + cut + len(passage)  # what follows is cut anew
            yield at, start
            break


def _is_title(text: str, most: int) -> bool:
    """Return whether a passage, with the white space after it, is a short line that no page break follows."""
    line = text.strip()
    return len(line) <= most * _TITLE_SHARE and "\n" not in line and "\f" not in text


def _segments(text: str, headings: Outline, start: int, last: int) -> Iterator[tuple[int, int]]:
    while last - start > SEGMENT_CHARACTERS:
        end = _segment_end(text, start, headings)
        yield start, end
        start = end
    yield start, last


def _segment_end(text: str, start: int, headings: Outline) -> int:
    """Return the best cut in the second half of a segment: at a heading, paragraph, line or word."""
    low, high = start + SEGMENT_CHARACTERS // 2, start + SEGMENT_CHARACTERS
    heading = bisect_right(headings.starts, high) - 1
    if heading >= 0 and headings.starts[heading] > low:
        return headings.starts[heading]
    cut = next((at + len(mark) for mark in ("\n\n", "\n", " ") if (at := text.rfind(mark, low, high)) >= 0), high)
    block = bisect_left(headings.fences, (cut, cut)) - 1
    if block >= 0 and low < headings.fences[block][0] < cut < headings.fences[block][1]:
        return headings.fences[block][0]
    return cut


def _code_end(text: str, start: int, size: int) -> int:
    if len(text) - start <= size:
        return len(text)
    high = start + size
    for mark, least in (("\n\n\n", size // 4), ("\n\n", size // 4), ("\n", 1)):
        end = _last_break(text, mark, start + least, high)
        if end is not None:
            return end
    return high


def _last_break(text: str, mark: str, low: int, high: int) -> int | None:
    """Return the end of the last `mark` in a range; prefers a blank line before an unindented line."""
    at = last = text.rfind(mark, low, high)
    while mark == "\n\n" and at >= 0 and text[at + 2 : at + 3].isspace():
        at = text.rfind(mark, low, at)
    best = at if at >= 0 else last
    return best + len(mark) if best >= 0 else None


def _trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Trim blank lines around a span; the first line keeps its indentation."""
    piece = text[start:end]
    end -= len(piece) - len(piece.rstrip())
    indent = len(piece) - len(piece.lstrip())
    newline = piece.rfind("\n", 0, indent)
    return start + newline + 1, end
