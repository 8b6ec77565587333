"""Every number of the ranking, and where it comes from.

The weights were learned on the four LoCoMo conversations of development: a listwise logistic regression
over what all passages of a conversation score for a question. With those of three conversations 84.9 % of the
evidence of the fourth stands within the first 720 tokens and 91.6 % within 2,000. Cranfield had no part in
it: nDCG@10 of 37.5 beside 36.9 of the best single score. What each part brings: docs/benchmarks.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.index.hits import Kind
from pipeline.text.surroundings import OWN

# BM25 for short texts: on LoCoMo .9 and .4 find 62.1 % of the evidence in ten, the usual 1.2 and .75 61.5 %.
K1 = 0.9
B = 0.4
PASSAGE_K1 = OWN * K1
"""A passage's own words are counted OWN times, so saturation begins as much later."""
PRIOR_ROWS = 100
"""Rows without any of the terms that every namespace is thought to hold besides its own: in one of five rows,
a word in two of them still says something. No effect beyond some hundred rows."""
DOCUMENT_K1 = 3.6
DOCUMENT_B = 0.75
"""BM25 of whole documents as in books: 1.2 and .75, at about three counts for each word of the document."""

SEVERAL = 0.3
"""How much of its weight a document as a whole keeps where a question asks for several things: they stand in
several documents. On LoCoMo 1.5 points more of their evidence within 2,000 tokens; left out conversation by
conversation, 0 to 0.15 would be learned (docs/benchmarks.md)."""

CANDIDATES: Mapping[Kind, int] = {"chunk": 256, "memory": 128}
"""Rows that are looked at twice: cues in their text, and what memories say of passages. With 128 passages 0.2
points less of LoCoMo's evidence stand within 2,000 tokens; 64 memories find 0.7 less by themselves."""
EXACT_ROWS = 32_768
NOMINATED = 640
"""In larger namespaces the cosines of a segment are exact for so many of its rows, by their codes: from there
on it is quicker, and finds the same ten (docs/benchmarks.md)."""
COMMON = 0.05
PASSED_OVER = 0.2
"""There, words that more of the rows have than this share name nobody, as long as they have no more of the
question's weight together: they are counted once it is known who deserves a look."""
SPEAKER = 1.25
"""What a passage gains that is all said by somebody whom the question names; by the share of its text."""
TIME = 2.7
NUMBER = 1.0
"""What a text gains that says a time, where the question asks when, or a number, where it asks how many."""
DATE = 3.0
DATE_DAYS = 10.0
"""What a document gains that is of the time a question names; and after how many days away, a third of it."""
REMEMBERED = 0.12
"""What a passage gains of the score of the best memory that was made of it."""
REPEATED = 3.0
"""What a memory loses whose passage scores more: there it stands already, in the words it was said in."""
OUTDATED = 3.0
"""What a passage loses where the memory of it that answers best was replaced or forgotten: as much as
REPEATED, so that of passages that answer alike the one that still holds comes first. Not learned."""
ANSWERS = 0.3
"""Similarity from which that memory answers at all: the threshold of searches that say none."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """From the scores to the similarity that callers see and cut.

    raw = words * bm25 + documents * bm25 of the document + meaning * (cosine - floor), each within 0 and 1;
    similarity = 1 / (1 + exp((middle - raw) / width)).
    """

    words: float
    documents: float
    meaning: float
    middle: float
    width: float
    floor: float = 0.0

    def similarity(self, raw: float) -> float:
        """Within 0 and 1; grows with `raw`."""
        return 1.0 / (1.0 + math.exp(min((self.middle - raw) / self.width, 700.0)))

    def cut(self, threshold: float) -> float:
        """The raw score that has this similarity."""
        if threshold <= 0.0:
            return -math.inf
        if threshold >= 1.0:
            return math.inf
        return self.middle + self.width * math.log(threshold / (1.0 - threshold))


# Middle and width put a similarity of 0.3 at 3.0: 95 % of the evidence on LoCoMo scores 3.1 or more, 99 % of
# questions about another domain find nothing above 2.5 there. The curve is in docs/benchmarks.md.
WORDLLAMA = Calibration(words=11.6, documents=6.3, meaning=4.5, middle=5.0, width=2.4)
# Without vectors the rest of the scale is all there is, so it begins lower.
NONE = Calibration(words=11.6, documents=6.3, meaning=0.0, middle=3.3, width=2.0)
# Models of sentences give unrelated texts a cosine of 0.1 to 0.2, which is no relation. An estimate from
# published cosines, not a fit: there was no such model to fit on.
SENTENCES = Calibration(words=11.6, documents=6.3, meaning=8.0, middle=5.0, width=2.4, floor=0.15)


def calibration(embedder: str) -> Calibration:
    """The scale that belongs to an embedder, by its name."""
    if embedder == "none":
        return NONE
    return WORDLLAMA if embedder.startswith("wordllama") else SENTENCES
