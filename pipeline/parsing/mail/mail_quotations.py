"""Quotations in mails: what a message repeats of earlier ones in its thread is left out, all else is kept."""

import re
from collections.abc import Iterator, Sequence

_WORD = re.compile(r"\w+")
_LINK_TARGET = re.compile(r"\]\([^()\s]*\)|<?https?://\S+|<mailto:[^>\s]*>")
_GRAM = 3
_MIN_KNOWN = 0.8
"""Share of known word sequences from which a quoted line repeats an earlier message."""
_MAX_LINE_LENGTH = 400
_MAX_HEADER_LINES = 8
_QUOTED = re.compile(r"\s{0,3}>")
_ATTRIBUTION_START = re.compile(r"\W{0,4}(?:On|Am|Le|El|Il|Op|Em|Den|Dnia|W dniu)\b")
_ATTRIBUTION_END = re.compile(
    r"\b(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał\w*)\b[^:]{0,200}:\W{0,4}$",
    re.IGNORECASE,
)
_DATED_LINE = re.compile(r"(?=.*\d{1,2}[:.h]\d{2}|.*\b(?:19|20)\d\d\b)(?=.*@).*[:\uff1a]\W{0,4}$")
"""Line with a date and an address that ends in a colon: an attribution in whatever language."""
_ORIGINAL_MESSAGE_RULE = re.compile(r"\W{0,4}-{3,40}\s?[^-\n]{4,60}?\s?-{3,40}\W{0,4}$|_{10,200}$")
_HEADER_LABEL = re.compile(
    r"[*\s]{0,4}(?:From|Von|De|Da|Van|Fra|Från|Od|Lähettäjä|От|差出人|发件人|寄件者)\s?[:\uff1a]"
)
_ANY_LABEL = re.compile(r"[*\s]{0,4}[^\W\d_][\w -]{0,20}?\s?[:\uff1a]\W")


class KnownText:
    def __init__(self) -> None:
        self._grams: set[tuple[str, ...]] = set()
        self._words: set[str] = set()

    def add(self, text: str) -> None:
        words = _words_of(text)
        self._words.update(words)
        self._grams.update(_grams_of(words))

    def contains(self, line: str) -> bool:
        """Return whether a line says nothing that was not said before."""
        return self.share(line) >= _MIN_KNOWN

    def share(self, line: str) -> float:
        """Return the share of a line's word sequences that are known; 1.0 for a line without words."""
        words = _words_of(line)
        if len(words) < _GRAM:
            return 1.0 if self._words.issuperset(words) else 0.0
        grams = list(_grams_of(words))
        return sum(gram in self._grams for gram in grams) / len(grams)


def strip_quotations(text: str, known: KnownText) -> str:
    """Strip quoted lines that repeat known text, with the lines that introduce them."""
    lines = text.split("\n")
    end = next((at for at in range(len(lines)) if _starts_original_message(lines, at)), len(lines))
    kept = _strip_quoted_lines(lines[:end], known)
    if end < len(lines):
        kept += _strip_original_message(lines[end:], known)
    return "\n".join(kept).strip()


def _strip_quoted_lines(lines: Sequence[str], known: KnownText) -> list[str]:
    kept: list[str] = []
    for number, line in enumerate(lines):
        if not _QUOTED.match(line):
            kept.append(line)
        elif known.contains(line):
            if number and not _QUOTED.match(lines[number - 1]):
                _drop_attribution(kept)
        else:
            kept.append(line)
    return kept


def _drop_attribution(kept: list[str]) -> None:
    """Drop the attribution at the end of the kept lines: one or two lines before a quotation."""
    last = len(kept) - 1
    while last >= 0 and not kept[last].strip():
        last -= 1
    if last < 0:
        return
    line, before = kept[last].strip()[-_MAX_LINE_LENGTH:], kept[last - 1].strip()[-_MAX_LINE_LENGTH:] if last else ""
    if _DATED_LINE.match(line) or (_ATTRIBUTION_END.search(line) and _ATTRIBUTION_START.match(line)):
        del kept[last:]
    elif _ATTRIBUTION_START.match(before) and (_ATTRIBUTION_END.search(line) or _DATED_LINE.match(f"{before} {line}")):
        del kept[last - 1 :]


def _starts_original_message(lines: Sequence[str], at: int) -> bool:
    """Return whether a quoted message begins here in Outlook's form, with or without a rule above."""
    line = lines[at]
    if len(line) > _MAX_LINE_LENGTH or not line.strip():
        return False
    if _ORIGINAL_MESSAGE_RULE.match(line.strip()):
        following = [each for each in lines[at + 1 : at + 4] if each.strip()]
        return bool(following) and _HEADER_LABEL.match(following[0]) is not None
    if not _HEADER_LABEL.match(line):
        return False
    return sum(_is_label(each) for each in lines[at + 1 : at + 5]) >= 2  # of date, to and subject


def _strip_original_message(lines: Sequence[str], known: KnownText) -> list[str]:
    """Strip what is known of a quoted message; an unknown one was passed on and is kept with its header."""
    header = [at for at, each in enumerate(lines[:_MAX_HEADER_LINES]) if _is_label(each) or not each.strip()]
    body_start = next((at for at in range(1, len(lines)) if at not in header), len(lines))
    body = [each for each in lines[body_start:] if each.strip()]
    words = sum(len(each) for each in body)
    repeated = sum(len(each) for each in body if known.contains(each))
    if not body or repeated * 2 < words:
        return list(lines)
    return ["", *(each for each in body if not known.contains(each) and not _is_label(each))]


def _is_label(line: str) -> bool:
    return len(line) <= _MAX_LINE_LENGTH and (_ANY_LABEL.match(line) or _ORIGINAL_MESSAGE_RULE.match(line)) is not None


def _words_of(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_LINK_TARGET.sub(" ", text))]


def _grams_of(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[at:] for at in range(_GRAM)), strict=False)
