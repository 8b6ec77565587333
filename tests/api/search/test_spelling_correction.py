"""Names that nobody in a namespace writes so."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.search.spelling_correction import likely_corrections
from pipeline.models import NullEmbedder
from schemas.http.v5.search_bodies import SearchBody
from tests.support.index_harness import IndexHarness

pytestmark = pytest.mark.anyio
TEXTS = ["Caroline: I met Carlos.", "Caroline went home.", "carolyne is no name"]


@pytest.mark.parametrize("typed", ["Carolie", "Carooline", "Carolime", "Caroilne"])
def test_one_slip_is_put_right_to_the_commonest_name(typed: str) -> None:
    assert likely_corrections([typed], TEXTS) == {typed: "Caroline"}


@pytest.mark.parametrize("typed", ["Aroline", "Karoline", "Carol", "Jane"])
def test_another_name_stays(typed: str) -> None:
    assert likely_corrections([typed], TEXTS) == {}


@given(st.text(st.characters(categories=["L"]), min_size=5, max_size=9), st.data())
@settings(max_examples=40)
def test_a_letter_left_out_after_the_first_is_always_found(rest: str, data: st.DataObject) -> None:
    name = "B" + rest
    at = data.draw(st.integers(1, len(name) - 1))
    typed = name[:at] + name[at + 1 :]
    assert likely_corrections([typed], [name]) in ({typed: name}, {})
    if name.isascii():
        assert likely_corrections([typed], [name]) == {typed: name}


async def test_a_mistyped_name_finds_what_the_name_finds(world: IndexHarness) -> None:
    await world.add_document("c", "Caroline planted roses.")
    await world.add_document("d", "Melanie planted tulips.")

    async def first(query: str, *, rewrite: bool = True) -> list[tuple[str, float]]:
        body = SearchBody.model_validate({"query": query, "threshold": 0, "rewriteQuery": rewrite})
        hits = (await world.searching(NullEmbedder()).run(world.namespace(), body)).hits
        return [(hit.id, hit.raw_score) for hit in hits[:1]]

    assert await first("What did Melannie plant?") == await first("What did Melanie plant?", rewrite=False)
    assert (await first("What did Melannie plant?"))[0][0] == "d-0"
