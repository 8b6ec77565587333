"""Terms of a passage: its own words count twice, those around it once."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rows import Terms
from pipeline.text.analyzer import hash_terms
from pipeline.text.context_terms import CONTEXT_CHARS, OWN_TERM_WEIGHT, context_expanded_terms

PASSAGES = st.lists(st.lists(st.sampled_from(["tea", "cup", "Oslo", "rain"]), max_size=6).map(" ".join))


def _counts(terms: Terms) -> dict[int, int]:
    return dict(zip(*[part.tolist() for part in np.unique(terms, return_counts=True)], strict=True))


@given(PASSAGES)
@settings(max_examples=50)
def test_short_passages_count_twice_and_their_neighbours_once(texts: list[str]) -> None:
    own = [hash_terms(text) for text in texts]
    for at, terms in enumerate(context_expanded_terms(texts, own)):
        around = [*own[max(at - 1, 0) : at], *own[at + 1 : at + 2]]
        assert _counts(terms) == _counts(np.concatenate([*[own[at]] * OWN_TERM_WEIGHT, *around]))


def test_of_a_long_neighbour_only_what_stands_near_counts() -> None:
    before = " ".join(["far"] * CONTEXT_CHARS + ["near"] * (CONTEXT_CHARS // 10))
    texts = [before, "here"]
    counts = _counts(context_expanded_terms(texts, [hash_terms(text) for text in texts])[1])
    assert counts[int(hash_terms("near")[0])] == CONTEXT_CHARS // 10
    assert counts.get(int(hash_terms("far")[0]), 0) < CONTEXT_CHARS // 2


def test_a_passage_alone_counts_twice() -> None:
    assert context_expanded_terms(["tea"], [hash_terms("tea")])[0].tolist() == hash_terms("tea tea").tolist()
