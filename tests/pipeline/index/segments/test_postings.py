"""Postings against the plain counting they stand for."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.index.segments.postings import Postings, build_postings, merge_postings

ROWS = st.lists(st.lists(st.integers(0, 12) | st.just(2**32 - 1), max_size=9), max_size=12)


def _invert(rows: list[list[int]]) -> Postings:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return build_postings(np.array([term for row in rows for term in row], np.uint32), offsets)


def _find(postings: Postings, term: int) -> tuple[list[int], list[int]]:
    return next(((rows.tolist(), counts.tolist()) for _, rows, counts in postings.find_all([term])), ([], []))


def _same(postings: Postings, rows: list[list[int]]) -> None:
    assert postings.lengths.tolist() == [len(row) for row in rows]
    for term in {*range(14), 2**32 - 1}:
        found, counts = _find(postings, term)
        wanted = [(at, Counter(row)[term]) for at, row in enumerate(rows) if term in row]
        assert list(zip(found, counts, strict=True)) == wanted


@given(ROWS)
def test_every_term_finds_its_rows_and_how_often_they_hold_it(rows: list[list[int]]) -> None:
    _same(_invert(rows), rows)


@given(ROWS, st.lists(st.integers(0, 14), unique=True))
def test_many_terms_are_found_in_the_order_given_as_each_by_itself(rows: list[list[int]], terms: list[int]) -> None:
    postings = _invert(rows)
    found = [(term, here.tolist(), counts.tolist()) for term, here, counts in postings.find_all(terms)]
    each = [(term, *_find(postings, term)) for term in terms]
    assert found == [pair for pair in each if pair[1]]


@given(st.lists(st.tuples(ROWS, st.randoms(use_true_random=False)), min_size=1, max_size=4))
def test_merging_is_inverting_what_was_kept(parts: list[tuple[list[list[int]], object]]) -> None:
    kept: list[list[int]] = []
    merging = []
    for rows, random in parts:
        keep = [random.random() < 0.6 for _ in rows]  # type: ignore[attr-defined] # a Random
        merging.append((_invert(rows), np.array(keep, np.bool_)))
        kept += [row for row, wanted in zip(rows, keep, strict=True) if wanted]
    _same(merge_postings(merging), kept)


def test_a_term_that_fills_a_row_is_counted_up_to_a_byte() -> None:
    assert _find(_invert([[7] * 1000]), 7) == ([0], [255])
