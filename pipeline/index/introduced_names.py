"""Names that the memories of a namespace say to be the user's own, found through the postings."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from pipeline.index.asker_name import introduced_name
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import MemoryColumns

_MAX_ROW_TERMS = 12
_MAX_ROWS = 16
"""A memory that introduces the user is short; so many of those with a term are read in a segment."""


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
