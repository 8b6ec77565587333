"""Splitting of text into sentences with their spans, without code, headings, tables and addresses."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.memory.grammar.own_fields import mark_as_own, own_lines

MAX_SENTENCE_CHARS = 400
"""Characters of a sentence; a longer one is a list, a table or a text without stops."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without markup, and its span (`start`, `end`) in the original text."""

    text: str
    start: int
    end: int


_FENCE = re.compile(r"^[ ]{0,3}(```+|~~~+)")
_SKIPPED = re.compile(
    r"^(?:\s{0,3}#{1,6}\s|\s*\||\s*<[/!a-zA-Z]|(?: {4}|\t)\S|\s*[-=*_]{3,}\s*$|\s*\[[^\]]+\]:\s|"
    r"\s*[$>]{1,3} |(?:From|Sent|Date|To|Cc|Bcc|Reply-To|Subject|Betreff|Objet|Asunto|"
    r"Assunto|Oggetto|Onderwerp|Temat|Ämne|Konu) ?:(?:\s|$))"
)
_ITEM = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_STOP = re.compile(
    r"[.!?\u2026\u061f]+[\"'\u201d\u2019)\]]*(?=\s|$)|[!?]+(?=[\u3040-\u30ff\u4e00-\u9fff])|[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]+(?=\s|$)|"
    r"[\u3002\uff01\uff1f\u0964]+[\u300d\u300f\u201d]*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|[Mm]rs?|[Mm]s|[Dd]r|[Pp]rof|St|Sr|Jr|vs|etc|esp|e\.g|i\.e|cf|No|Inc|Ltd|Co|Corp|approx|Fig|Jan|Feb|Mar|Apr|"
    r"Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|a\.m|p\.m|U\.S|U\.K|Fr|Hr|Sra|Dra|Mme|kl|godz|hod|med|bzw|ca|Fa|Fam|[Nn]r|Str|inkl|ul)$|"
    r"(?:^|\b(?:to|at|in|near|from|of|de) )st$"
)
_ORDINAL = re.compile(
    r"(?<!\d)\d{1,2}\. ?(?:(?!(?:i'?m?|it'?s?|my|we|so|the|they|s?he|you|and|but|not?|just|now|also|this|that)\b)"
    r"[^\W\d_A-Z]|Jan|Feb|M[äa]r|Apr|Ma[ij]|J[uú][nl]|Aug|Sep|O[kc]t|Nov|De[zc]|\d{1,2}\.(?!\d)|[A-Z]{2}\b)"
)
"""A day as many languages write it: `vom 1. bis 15. Dezember`, `15. října`, `den 3. 5.`."""
_SMALL = re.compile(r"\W*[^\W\d_A-Z]")
_LABELLED = re.compile(r"\W*[A-Z][\w /-]{0,24}: ")
_MIN_WIDTH, _MAX_WIDTH = 60, 120
"""Widths to which programs break lines."""
_RAGGED = 0.2
"""Share of a width by which lines that a person broke differ."""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*(?:\s+\"[^\"]*\")?\)")
_MARKS = re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1|(?<!\w)[*_](?=\S)([^*_\n]+?)(?<=\S)[*_](?!\w)")
_SPACE = re.compile(r"\s+")


def split_sentences(text: str, *, split_on_newlines: bool = False) -> Iterator[Sentence]:
    r"""Return the sentences of a text in order. `split_on_newlines`: each line ends one, as in a chat.

    >>> [sentence.text for sentence in split_sentences("# Tea\nI like tea. **Ann** has\ntwo cups.")]
    ['I like tea.', 'Ann has two cups.']
    """
    for start, end, is_own in _paragraphs(text, split_on_newlines=split_on_newlines):
        if is_own:
            yield from (replace(field, text=mark_as_own(field.text)) for field in _sentence(text, start, end))
        else:
            yield from _split(text, start, end)


def join_continued(sentences: Iterable[Sentence], joined: Callable[[str, str], str | None]) -> Iterator[Sentence]:
    """Yield the sentences, as one those that are `joined` with the one before them."""
    last: Sentence | None = None
    for sentence in sentences:
        whole = None if last is None else joined(sentence.text, last.text)
        if last is not None and whole is not None:
            last = Sentence(whole, last.start, sentence.end)
        else:
            if last is not None:
                yield last
            last = sentence
    if last is not None:
        yield last


def _paragraphs(text: str, *, split_on_newlines: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield spans of running text: soft-wrapped lines together, list items and fields of the writer each alone."""
    lines = text.splitlines(keepends=True)
    fields = own_lines(lines)
    wrapped = set[int]() if split_on_newlines else _continued_lines(lines)
    fence: str | None = None
    begin = end = -1
    position = 0
    for at, line in enumerate(lines):
        start, position = position, position + len(line)
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark[1].startswith(fence):
                fence = None
            continue
        item = _ITEM.match(line)
        is_skipped = _SKIPPED.match(line) is not None
        breaks = not line.strip() or mark or item or at in fields or (at not in wrapped)
        if breaks and begin >= 0:
            yield begin, end, False
            begin = -1
        if at in fields:
            yield start, position, True
            continue
        if mark:
            fence = mark[1]
        elif item:
            begin, end = start + item.end(), position
        elif line.strip() and (not is_skipped or begin >= 0):
            begin, end = (start if begin < 0 else begin), position
    if begin >= 0:
        yield begin, end, False


def _continued_lines(lines: Sequence[str]) -> set[int]:
    """Return which lines go on with the one before, as where a program broke them.

    What people break themselves has room left for the next word: headings, fields, addresses, short notes.
    """
    found = set[int]()
    block: list[int] = []
    for at, line in enumerate([*lines, ""]):
        if line.strip() and not _SKIPPED.match(line) and not _ITEM.match(line):
            block.append(at)
            continue
        found |= _wrapped(block, lines)
        block = [at] if _ITEM.match(line) else []
    return found


def _wrapped(block: Sequence[int], lines: Sequence[str]) -> set[int]:
    written = [lines[at].rstrip() for at in block]
    width = max(map(len, written), default=0)
    if not block or width > _MAX_WIDTH:
        return set()
    full = set[int]()
    small = {at for at, line in zip(block, written, strict=True) if _SMALL.match(line)}
    for at, before, line in zip(block[1:], written, written[1:], strict=False):
        slack = width * _RAGGED if at in small and width >= _MIN_WIDTH else 0
        if len(before) + 1 + len(line.split()[0]) > width - slack and not _LABELLED.match(line):
            full.add(at)
    if len(full) * 2 < len(block) - 1:
        full.clear()
    elif width < _MIN_WIDTH:
        full &= small if block[0] not in small else set[int]()
    return full | {at for at in block[1:] if _ITEM.match(lines[block[0]]) and lines[at][:1].isspace()}


def _split(text: str, start: int, end: int) -> Iterator[Sentence]:
    begin = start
    for stop in _STOP.finditer(text, start, end):
        if stop[0] == "." and (
            _ABBREVIATION.search(text, max(0, stop.start() - 9), stop.start())
            or _ORDINAL.search(text, max(0, stop.start() - 3), min(end, stop.end() + 12))
        ):
            continue
        yield from _sentence(text, begin, stop.end())
        begin = stop.end()
    yield from _sentence(text, begin, end)


def _sentence(text: str, start: int, end: int) -> Iterator[Sentence]:
    raw = text[start:end]
    stripped = raw.strip()
    if not stripped or (len(stripped) > MAX_SENTENCE_CHARS and not _is_dictated(stripped)):
        return
    start += len(raw) - len(raw.lstrip())
    yield Sentence(plain_text(stripped), start, start + len(stripped))


def _is_dictated(text: str) -> bool:
    """Return whether a long text without stops is somebody's talk, and no list or table: hardly a sign among words."""
    return len(text) <= MAX_DICTATED_CHARS and len(_SIGN.findall(text)) * _CHARS_OF_SIGN < len(text)


MAX_DICTATED_CHARS = 3000
_SIGN = re.compile(r"[^\w\s'\u2019]|\d|\n|\b[A-Z]")
_CHARS_OF_SIGN = 100


def plain_text(text: str) -> str:
    """Return a text without marks of emphasis and links, in single spaces."""
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    if "*" in text or "_" in text or "~" in text:
        text = _MARKS.sub(lambda match: match[2] or match[3], text)
    return _SPACE.sub(" ", text.replace("`", "").replace("\u2019", "'")).strip()
