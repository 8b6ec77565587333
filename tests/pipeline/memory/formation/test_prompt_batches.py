"""Related documents are asked about together, long ones in parts, and nothing is left out."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.prompt_batches import (
    BYTES_PER_TOKEN,
    MAX_PARTS_PER_DOCUMENT,
    plan_batches,
    split_text,
)
from tests.support.fakes import EPOCH

TEXTS = st.text(st.sampled_from("ab ä日\n.😀"), max_size=300)


def job(text: str, **fields: object) -> ExtractionJob:
    return replace(ExtractionJob("home#0", text[:8], 1, EPOCH, text), **fields)  # type: ignore[arg-type]  # tests name fields


@given(TEXTS, st.integers(1, 80))
@settings(max_examples=150)
def test_parts_cover_the_text_within_the_budget(text: str, budget: int) -> None:
    parts = list(split_text(3, text, budget))
    for part in parts:
        assert part.job_index == 3
        assert text[part.start : part.start + len(part.text)] == part.text
        assert len(part.text.encode()) <= budget or len(part.text) == 1
    ends = [part.start + len(part.text) for part in parts]
    for end, start in zip([0, *ends], [*(part.start for part in parts), len(text)], strict=True):
        assert not text[end:start].strip()


def test_documents_of_one_group_share_a_batch_in_order() -> None:
    works = [
        job("one", group={"trip": "x"}),
        job("two"),
        job("three", group={"trip": "x"}),
        job("four"),
    ]
    plan = plan_batches(works, 100)
    assert [[part.text for part in bundle] for bundle in plan.batches] == [["one", "three"], ["two", "four"]]
    assert not plan.leftover_parts


def test_a_page_or_a_synced_text_shares_no_batch_with_what_the_user_said() -> None:
    works = [
        job("said"),
        job("page", type="webpage"),
        job("mail", is_synced=True),
        job("too"),
        job("sheet", type="csv"),
    ]
    plan = plan_batches(works, 100)
    assert [[part.text for part in bundle] for bundle in plan.batches] == [["said", "too"], ["page", "mail", "sheet"]]


@given(st.lists(TEXTS, max_size=6), st.integers(1, 20))
@settings(max_examples=100)
def test_every_text_is_in_a_batch_or_left_to_the_rules(texts: list[str], tokens: int) -> None:
    plan = plan_batches([job(text) for text in texts], tokens)
    parts = [part for bundle in [*plan.batches, plan.leftover_parts] for part in bundle]
    for place, text in enumerate(texts):
        own = sorted((part for part in parts if part.job_index == place), key=lambda part: part.start)
        assert "".join("".join(part.text for part in own).split()) == "".join(text.split())
    for bundle in plan.batches:
        size = sum(len(part.text.encode()) for part in bundle)
        assert size <= tokens * BYTES_PER_TOKEN or len(bundle) == 1


def test_only_the_beginning_of_a_book_is_sent_to_the_model() -> None:
    text = "A line of a book.\n" * 100
    plan = plan_batches([job(text)], 10)
    assert sum(map(len, plan.batches)) == MAX_PARTS_PER_DOCUMENT
    [rest] = plan.leftover_parts
    assert text.endswith(rest.text)


def test_parts_end_at_line_ends() -> None:
    assert [part.text for part in split_text(0, "The first line.\nThe second line.", 20)] == [
        "The first line.\n",
        "The second line.",
    ]
