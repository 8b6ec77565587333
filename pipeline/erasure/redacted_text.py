"""Rules: a text without some of its sentences, and where the others are then. Pure."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.memory.grammar.sentence_splitter import split_sentences

_LABEL = re.compile(r"[^.!?\n]{0,80}:[ \t*_]*\Z")
"""Who speaks, before what is said."""
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
    found = sorted(spans)
    if text.lstrip()[:1] in {"[", "{"}:
        # A chat in JSON stays one: what is next to a sentence may be a quotation mark of its format.
        return _merge(found)
    for sentence in split_sentences(text, split_on_newlines=True):
        whole = Span(sentence.start, sentence.end)
        for at, span in enumerate(found):
            if whole.overlaps(span):
                is_label = whole.start < span.start and _LABEL.fullmatch(text, whole.start, span.start)
                start = span.start if is_label else min(span.start, whole.start)
                found[at] = Span(start, max(span.end, whole.end))
    return _merge(found)


def redact(text: str, sentences: Sequence[Span]) -> RedactedText:
    r"""Take sentences out of a text, each with the space after it, or with its line where nothing else is in it.

    >>> redact("- I like tea.\n- I like jam.", [Span(2, 13)]).text
    '- I like jam.'
    >>> redact("Tea is fine. Jam is not. Milk is.", [Span(13, 24)]).text
    'Tea is fine. Milk is.'
    """
    cuts = _merge([_with_surroundings(text, sentences, span) for span in sentences])
    pieces, begin = [], 0
    for cut in cuts:
        pieces.append(text[begin : cut.start])
        begin = cut.end
    return RedactedText("".join((*pieces, text[begin:])), cuts)


def _with_surroundings(text: str, sentences: Sequence[Span], span: Span) -> Span:
    line_start = text.rfind("\n", 0, span.start) + 1
    line_end = text.find("\n", span.end)
    line_end = len(text) if line_end < 0 else line_end
    kept = [text[line_start : span.start], text[span.end : line_end]]
    for other in sentences:
        # Sentences that go too leave nothing in the line.
        if other.start >= line_start and other.end <= span.start:
            kept[0] = kept[0].replace(text[other.start : other.end], "")
        if other.start >= span.end and other.end <= line_end:
            kept[1] = kept[1].replace(text[other.start : other.end], "")
    if _REST_OF_LINE.fullmatch(kept[0]) and not re.search(r"\w", kept[1]):
        return Span(line_start, min(line_end + 1, len(text)))
    end = span.end
    while end < line_end and text[end] in " \t":
        end += 1
    return Span(span.start, end)


def _merge(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
