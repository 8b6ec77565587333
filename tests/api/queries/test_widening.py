"""A question is also asked in words of the namespace that mean what its own do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.queries.search import Models, found
from api.queries.widening import beside
from pipeline.inference.wordllama import WordLlamaEmbedder
from pipeline.text.terms import term_hashes
from schemas.http.search import SearchBody
from tests.fakes import FixedClock
from tests.pipeline.index.world import World

pytestmark = pytest.mark.anyio
EMBEDDER = WordLlamaEmbedder.packaged()


def test_the_likest_words_stand_beside_a_word_and_no_others() -> None:
    found = beside("Which film did she like?", ["We saw a movie.", "Bread and stamps."], EMBEDDER)
    assert found.keys() == {*term_hashes("movie")}
    assert {one.of for one in found.values()} == {*term_hashes("film")}


def test_a_word_never_stands_beside_itself() -> None:
    assert beside("films", ["a film, films, filming"], EMBEDDER) == {}


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
@settings(max_examples=30)
def test_any_query_and_texts_are_read(query: str, texts: list[str]) -> None:
    own = {term for word in query.split() for term in term_hashes(word)}
    assert own.isdisjoint(beside(query, texts, EMBEDDER))


async def test_what_is_said_in_other_words_gains_and_what_has_them_loses_nothing(world: World) -> None:
    await world.document("other", "The movie was long.", "The bread was good.")
    await world.document("same", "The film was long.")
    plain, rewritten = [
        {
            hit.id: hit.raw
            for hit in (
                await found(world.cache, Models(EMBEDDER), FixedClock(), world.namespace(), body)
            ).hits
        }
        for body in (
            SearchBody.model_validate({"query": "long film", "threshold": 0, "rewriteQuery": again})
            for again in (False, True)
        )
    ]
    assert rewritten["other-0"] > plain["other-0"]
    assert rewritten["same-0"] >= plain["same-0"] - 1e-6
    assert max(rewritten, key=rewritten.__getitem__) == "same-0"
