"""What counts for a passage: its own words twice, those around it once."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rows import Terms
from pipeline.text.surroundings import OWN, REACH, counted
from pipeline.text.terms import hashed

PASSAGES = st.lists(st.lists(st.sampled_from(["tea", "cup", "Oslo", "rain"]), max_size=6).map(" ".join))


def _counts(terms: Terms) -> dict[int, int]:
    return dict(zip(*[part.tolist() for part in np.unique(terms, return_counts=True)], strict=True))


@given(PASSAGES)
@settings(max_examples=50)
def test_short_passages_count_twice_and_their_neighbours_once(texts: list[str]) -> None:
    own = [hashed(text) for text in texts]
    for at, terms in enumerate(counted(texts, own)):
        around = [*own[max(at - 1, 0) : at], *own[at + 1 : at + 2]]
        assert _counts(terms) == _counts(np.concatenate([*[own[at]] * OWN, *around]))


def test_of_a_long_neighbour_only_what_stands_near_counts() -> None:
    before = " ".join(["far"] * REACH + ["near"] * (REACH // 10))
    texts = [before, "here"]
    counts = _counts(counted(texts, [hashed(text) for text in texts])[1])
    assert counts[int(hashed("near")[0])] == REACH // 10
    assert counts.get(int(hashed("far")[0]), 0) < REACH // 2


def test_a_passage_alone_counts_twice() -> None:
    assert counted(["tea"], [hashed("tea")])[0].tolist() == hashed("tea tea").tolist()
