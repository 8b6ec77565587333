"""Rules: a text without some of its sentences, and where the others are then. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.memory.grammar.sentence_splitter import split_sentences

_LABEL = re.compile(r"[^.!?\n]{0,80}:[ \t*_]*\Z")
"""Who speaks, before what is said."""
_WORD = re.compile(r"\w")
_REST_OF_LINE = re.compile(r"[^\w\n]*|[^.!?\n]{0,80}:[\s*_]*|\s*\d{1,3}[.)]\s*")
"""What a line has beside its sentence: nothing, a bullet or number, or the name of a speaker."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters from `start` up to `end`."""

    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        """Tell whether the two have a character in common.

        >>> Span(0, 4).overlaps(Span(3, 5)), Span(0, 4).overlaps(Span(4, 5))
        (True, False)
        """
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text without `cuts`, which are sorted and disjoint."""

    text: str
    cuts: Sequence[Span]

    def moved(self, offset: int) -> int:
        """Return where a character of the old text is that was kept."""
        before = self.cuts[: bisect_right(self.cuts, Span(offset, offset))]
        return offset - sum(min(cut.end, offset) - cut.start for cut in before)


def whole_sentences(text: str, spans: Iterable[Span]) -> list[Span]:
    r"""Return the sentences that the spans are in, in order; without the name of who says them.

    >>> whole_sentences("Ann: I like tea, really. Bye.", [Span(5, 15)])
    [Span(start=5, end=24)]
    """
    found = _merge(spans)
    if text.lstrip()[:1] in {"[", "{"}:
        # A chat in JSON stays one: what is next to a sentence may be a quotation mark of its format.
        return found
    at = 0
    for sentence in split_sentences(text, split_on_newlines=True):
        whole = Span(sentence.start, sentence.end)
        while at < len(found) and found[at].end <= whole.start:
            at += 1
        place = at
        while place < len(found) and whole.overlaps(span := found[place]):
            is_label = whole.start < span.start and _LABEL.fullmatch(text, whole.start, span.start)
            start = span.start if is_label else min(span.start, whole.start)
            found[place] = Span(start, max(span.end, whole.end))
            place += 1
    return _merge(found)


def is_in(sentences: Sequence[Span], span: Span) -> bool:
    """Return whether a span overlaps one of these sentences, which are sorted and disjoint.

    >>> is_in([Span(0, 4), Span(6, 9)], Span(4, 6)), is_in([Span(0, 4), Span(6, 9)], Span(8, 12))
    (False, True)
    """
    before = bisect_left(sentences, Span(span.end, 0))
    return before > 0 and sentences[before - 1].end > span.start


def redact(text: str, sentences: Sequence[Span]) -> RedactedText:
    r"""Take sentences out of a text, each with the space after it, or with its line where nothing else is in it.

    >>> redact("- I like tea.\n- I like jam.", [Span(2, 13)]).text
    '- I like jam.'
    >>> redact("Tea is fine. Jam is not. Milk is.", [Span(13, 24)]).text
    'Tea is fine. Milk is.'
    """
    cuts = _merge(cut for line in _by_line(text, sentences) for cut in _cuts_of_line(text, line))
    pieces, begin = [], 0
    for cut in cuts:
        pieces.append(text[begin : cut.start])
        begin = cut.end
    return RedactedText("".join((*pieces, text[begin:])), cuts)


def _by_line(text: str, sentences: Sequence[Span]) -> Iterator[list[Span]]:
    line: list[Span] = []
    for sentence in sentences:
        if line and text.find("\n", line[-1].end, sentence.start) >= 0:
            yield line
            line = []
        line.append(sentence)
    if line:
        yield line


def _cuts_of_line(text: str, sentences: Sequence[Span]) -> Iterator[Span]:
    """Yield what is cut of a line: all of it where nothing else is in it, else each sentence and the space after."""
    line_start = text.rfind("\n", 0, sentences[0].start) + 1
    line_end = text.find("\n", sentences[-1].end)
    line_end = len(text) if line_end < 0 else line_end
    bounds = [*(sentence.start for sentence in sentences[1:]), line_end]
    has_more = any(_WORD.search(text, span.end, end) for span, end in zip(sentences, bounds, strict=True))
    if not has_more and _REST_OF_LINE.fullmatch(text, line_start, sentences[0].start):
        yield Span(line_start, min(line_end + 1, len(text)))
        return
    for span, limit in zip(sentences, bounds, strict=True):
        end = span.end
        while end < limit and text[end] in " \t":
            end += 1
        yield Span(span.start, end)


def _merge(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
