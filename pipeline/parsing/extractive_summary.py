"""Extractive summaries: the sentences that share most words with the rest of the text, in text order."""

import math
import re
from collections import Counter

from pipeline.parsing.document_titles import strip_markdown
from pipeline.text.stopwords import STOPWORDS

MAX_SUMMARY_CHARACTERS = 300
MIN_TEXT_CHARACTERS = 200
"""Shorter texts are their own summary."""
_SCANNED_CHARACTERS = 16_384
"""Length of the beginning that is used: it tells what a text is about."""
_SENTENCE_BOUNDARY = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9À-ÞА-Я])|(?<=[。！？])|\n+")  # noqa: RUF001 - CJK full stops
_WORD = re.compile(r"[^\W_]+")
_HARD_LINE_WRAP = re.compile(r"\n(?<=[^\n]{50}\n)(?=[^\s#>*|+`\d-])")
"""Line end inside a hard-wrapped paragraph."""
_FENCED_BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def summarize(text: str) -> str | None:
    """Return one to three sentences, about 300 characters; None for texts with too few."""
    if len(text) < MIN_TEXT_CHARACTERS:
        return None
    sentences = _sentences(_HARD_LINE_WRAP.sub(" ", _FENCED_BLOCK.sub("", text[:_SCANNED_CHARACTERS])))
    if len(sentences) < 3:
        return None
    chosen: list[int] = []
    remaining = MAX_SUMMARY_CHARACTERS
    for at in _rank_by_centrality(sentences):
        if len(chosen) == 3:
            break
        if len(sentences[at]) + 1 <= remaining:
            chosen.append(at)
            remaining -= len(sentences[at]) + 1
    return " ".join(sentences[at] for at in sorted(chosen)) or None


def _sentences(text: str) -> list[str]:
    sentences: list[str] = []
    for part in _SENTENCE_BOUNDARY.split(text):
        sentence = "" if part.lstrip()[:1] in {"#", "|"} else strip_markdown(part)
        if _is_informative(sentence) and sentence not in sentences[-20:]:
            sentences.append(sentence)
        if len(sentences) == 200:
            break
    return sentences


def _is_informative(sentence: str) -> bool:
    """Reject short sentences, URLs and lines of mostly symbols."""
    letters = sum(map(str.isalpha, sentence))
    return len(sentence) >= 25 and "://" not in sentence and letters * 5 >= len(sentence) * 3


def _rank_by_centrality(sentences: list[str]) -> list[int]:
    """Return positions of sentences, most central first; earlier sentences get a small bonus."""
    bags = [{word for word in _WORD.findall(s.lower()) if word not in STOPWORDS} for s in sentences]
    spread = Counter(word for bag in bags for word in bag)
    scores = [
        sum(spread[word] - 1 for word in sorted(bag)) / math.sqrt(len(bag) + 1) * (1.0 + 0.5 / (1 + at))
        for at, bag in enumerate(bags)
    ]
    return sorted(range(len(sentences)), key=lambda at: (-scores[at], at))
