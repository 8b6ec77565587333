"""What a query quotes, or is copied from, comes first."""

import pytest

from tests.support.index_harness import IndexHarness

pytestmark = pytest.mark.anyio
TEXTS = {
    "old": "The board agreed: the boiler is serviced in May by Thomsen, and the bill goes to the club.",
    "new": "Thomsen serviced the boiler. The bill for the boiler in May was high, says the board of the club.",
    "cjk": "会議室の鍵は受付の引き出しに戻してください。",
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("the boiler is serviced in May by", "old"),
        ("THE BILL for the boiler in may", "new"),
        ('what about "goes to the club"?', "old"),
        ("“says the board”", "new"),
        ("鍵は受付の引き出しに", "cjk"),
    ],
)
async def test_text_that_has_a_query_word_for_word_comes_first(either: IndexHarness, query: str, first: str) -> None:
    for name, text in TEXTS.items():
        await either.add_document(name, text)
    hits = await either.hits(query, kinds=("chunk",), explain=True)
    assert hits[0].id == f"{first}-0"
    assert "verbatim" in (hits[0].explanation or {})


@pytest.mark.parametrize("query", ["Is the boiler serviced in May by Thomsen?", "board club bill boiler", "the boiler"])
async def test_a_question_or_single_words_are_no_copied_text(either: IndexHarness, query: str) -> None:
    for name, text in TEXTS.items():
        await either.add_document(name, text)
    hits = await either.hits(query, threshold=0.0, explain=True)
    assert hits
    assert all("verbatim" not in (hit.explanation or {}) for hit in hits)
