"""Rows are found by their keys, however their segments were joined."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.columns import fingerprints, string_column
from pipeline.index.segments.key_postings import KeyPostings

KEYS = st.lists(st.sampled_from("abcdef"), max_size=4)
SEGMENTS = st.lists(st.lists(st.tuples(KEYS, st.booleans()), max_size=6), min_size=1, max_size=4)


def _made(rows: list[tuple[list[str], bool]]) -> KeyPostings:
    lengths = [len(keys) for keys, _ in rows]
    return KeyPostings.build(
        fingerprints(string_column(key for keys, _ in rows for key in keys)), np.cumsum([0, *lengths])
    )


@given(SEGMENTS, st.sets(st.sampled_from("abcdefg")))
@settings(max_examples=100, deadline=None)
def test_the_kept_rows_that_have_any_of_the_keys_are_found(
    segments: list[list[tuple[list[str], bool]]], wanted: set[str]
) -> None:
    parts = [(_made(rows), np.array([kept for _, kept in rows], np.bool_)) for rows in segments]
    kept = [keys for rows in segments for keys, kept in rows if kept]
    having = [row for row, keys in enumerate(kept) if wanted & set(keys)]
    assert KeyPostings.merge(parts).candidate_rows(fingerprints(string_column(sorted(wanted)))) == having
