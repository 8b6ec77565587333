"""An extractive summary: the sentences that share most with the rest of the text, in their own order."""

import math
import re
from collections import Counter

from pipeline.extraction.titles import plain
from pipeline.text.stopwords import STOPWORDS

LENGTH = 300
SHORTEST = 200
"""Shorter texts are their own summary."""
_READ = 16_384
"""Characters that are looked at: the beginning says what a text is about."""
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9À-ÞА-Я])|(?<=[。！？])|\n+")  # noqa: RUF001 - full-width marks end sentences too
_WORD = re.compile(r"[^\W_]+")
_WRAPPED = re.compile(r"\n(?<=[^\n]{50}\n)(?=[^\s#>*|+`\d-])")
"""A line's end inside of a paragraph that was wrapped by hand."""
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def summarize(text: str) -> str | None:
    """One to three sentences, about 300 characters; None where the text is short or has no sentences."""
    if len(text) < SHORTEST:
        return None
    sentences = _sentences(_WRAPPED.sub(" ", _FENCED.sub("", text[:_READ])))
    if len(sentences) < 3:
        return None
    chosen: list[int] = []
    room = LENGTH
    for at in _by_centrality(sentences):
        if len(chosen) == 3:
            break
        if len(sentences[at]) + 1 <= room:
            chosen.append(at)
            room -= len(sentences[at]) + 1
    return " ".join(sentences[at] for at in sorted(chosen)) or None


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for part in _SENTENCE.split(text):
        sentence = "" if part.lstrip()[:1] in {"#", "|"} else plain(part)
        if _says_something(sentence) and sentence not in found[-20:]:
            found.append(sentence)
        if len(found) == 200:
            break
    return found


def _says_something(sentence: str) -> bool:
    """Neither too short, nor an address, nor mostly signs."""
    letters = sum(map(str.isalpha, sentence))
    return len(sentence) >= 25 and "://" not in sentence and letters * 5 >= len(sentence) * 3


def _by_centrality(sentences: list[str]) -> list[int]:
    """Positions, most central first; earlier sentences win ties and a little more."""
    bags = [{word for word in _WORD.findall(s.lower()) if word not in STOPWORDS} for s in sentences]
    spread = Counter(word for bag in bags for word in bag)
    scores = [
        sum(spread[word] - 1 for word in sorted(bag)) / math.sqrt(len(bag) + 1) * (1.0 + 0.5 / (1 + at))
        for at, bag in enumerate(bags)
    ]
    return sorted(range(len(sentences)), key=lambda at: (-scores[at], at))
