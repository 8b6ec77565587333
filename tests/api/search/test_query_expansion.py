"""A question is also asked in words of the namespace that mean what its own do."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from api.search.query_expansion import find_expansion_terms
from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from pipeline.text.analyzer import term_hashes
from schemas.http.v5.search_bodies import SearchBody
from tests.support.index_harness import IndexHarness

pytestmark = pytest.mark.anyio
EMBEDDER = WordLlamaEmbedder.from_package()


def test_the_likest_words_stand_beside_a_word_and_no_others() -> None:
    found = find_expansion_terms("Which film did she like?", ["We saw a movie.", "Bread and stamps."], EMBEDDER)
    assert found.keys() == {*term_hashes("movie")}
    assert {expansion.original_term for expansion in found.values()} == {*term_hashes("film")}


def test_a_word_never_stands_beside_itself() -> None:
    assert find_expansion_terms("films", ["a film, films, filming"], EMBEDDER) == {}


class AllAlike:
    """Word vectors by which every word is like every other."""

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(words), 1), np.float32)


def test_a_word_that_is_a_stopword_in_english_is_no_term() -> None:
    found = find_expansion_terms("Wo ist das a und der Plan, den wir sehen?", ["Der Entwurf lag hier."], AllAlike())
    assert {expansion.original_term for expansion in found.values()} <= {*term_hashes("plan"), *term_hashes("sehen")}


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
@settings(max_examples=30)
def test_any_query_and_texts_are_read(query: str, texts: list[str]) -> None:
    own = {term for word in query.split() for term in term_hashes(word)}
    assert own.isdisjoint(find_expansion_terms(query, texts, EMBEDDER))


async def test_what_is_said_in_other_words_gains_and_what_has_them_loses_nothing(world: IndexHarness) -> None:
    await world.add_document("other", "The movie was long.", "The bread was good.")
    await world.add_document("same", "The film was long.")
    plain, rewritten = [
        {hit.id: hit.raw_score for hit in (await world.searching(EMBEDDER).run(world.namespace(), body)).hits}
        for body in (
            SearchBody.model_validate({"query": "long film", "threshold": 0, "rewriteQuery": again})
            for again in (False, True)
        )
    ]
    assert rewritten["other-0"] > plain["other-0"]
    assert rewritten["same-0"] >= plain["same-0"] - 1e-6
    assert max(rewritten, key=rewritten.__getitem__) == "same-0"
