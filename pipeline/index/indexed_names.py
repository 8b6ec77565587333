"""Names of the user and of those who speak in conversations, found through the postings."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import numpy as np

from pipeline.index.asker_name import introduced_name
from pipeline.index.ranking.query_intent import MAX_SPEAKER_NAME_CHARS
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import ChunkColumns, MemoryColumns
from pipeline.text.speaker_attribution import parse_utterances

_SAMPLED_ROWS = 8
_MIN_SPOKEN_ROWS = 3
"""Of so many passages with a name, at even distances, somebody of that name speaks in at least so many."""
_MAX_ROW_TERMS = 12
_MAX_ROWS = 16
"""A memory that introduces the user is short; so many of those with a term are read in a segment."""


def speaker_names(views: Sequence[SegmentView[ChunkColumns]], terms: Collection[int]) -> Iterator[str]:
    """The names of those who speak in passages with one of these terms; the largest segment is looked at."""
    for view in views[:1]:
        for _, found, _ in view.segment.postings.find_all(terms):
            rows = found if view.mask is None else found[view.mask[found.astype(np.intp)]]
            sampled = rows[np.linspace(0, len(rows) - 1, min(_SAMPLED_ROWS, len(rows)), dtype=np.intp)]
            spoken = Counter(name for row in sampled.tolist() for name in _speakers(view.segment.columns.texts[row]))
            yield from (name for name, count in spoken.items() if count >= _MIN_SPOKEN_ROWS)


@lru_cache(maxsize=1024)
def _speakers(text: str) -> frozenset[str]:
    """Find who speaks in a passage; cached, as a question about the same person looks at the same passages."""
    if ":" not in text[:MAX_SPEAKER_NAME_CHARS]:
        return frozenset()
    return frozenset(said.speaker for said in parse_utterances(text) if said.speaker)


def introduced_names(views: Sequence[SegmentView[MemoryColumns]], terms: Collection[int]) -> Iterator[str]:
    """The names with one of these terms that memories introduce, superseded ones too: people keep their names."""
    for view in views:
        columns, postings = view.segment.columns, view.segment.postings
        for _, found, _ in postings.find_all(terms):
            rows = found.astype(np.intp)
            introducing = columns.in_profile[rows] & ~columns.forgotten[rows]
            introducing &= postings.lengths[rows] <= _MAX_ROW_TERMS
            if view.mask is not None:
                introducing &= view.mask[rows]
            for row in rows[introducing][:_MAX_ROWS].tolist():
                if name := introduced_name(columns.texts[row]):
                    yield name
