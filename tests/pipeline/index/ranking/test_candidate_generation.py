"""Candidates that are scored where not all documents can be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.index.ranking.candidate_generation import preselect

SCORES = st.lists(st.integers(-9, 9), min_size=2, max_size=40)


@settings(max_examples=50)
@given(SCORES, st.data())
def test_the_nominated_are_the_best_of_those_that_may_be_found(scores: list[int], data: st.DataObject) -> None:
    kept = data.draw(st.none() | st.sets(st.integers(0, len(scores) - 1), min_size=2))
    rows = None if kept is None else np.array(sorted(kept), np.intp)
    among = list(range(len(scores))) if rows is None else rows.tolist()
    many = data.draw(st.integers(1, len(among) - 1))
    nominated = preselect(np.array(scores, np.float32), rows, many).tolist()
    assert nominated == sorted(set(nominated) & set(among))
    best = sorted((scores[row] for row in among), reverse=True)[:many]
    assert sorted((scores[row] for row in nominated), reverse=True) == best
