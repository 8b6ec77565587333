"""Related documents are asked about together, long ones in parts, and nothing is left out."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.bundles import BYTES_PER_TOKEN, PARTS, parts, planned
from pipeline.memory.writing import Work
from tests.fakes import EPOCH

TEXTS = st.text(st.sampled_from("ab ä日\n.😀"), max_size=300)


def work(text: str, **fields: object) -> Work:
    return replace(Work("home#0", text[:8], 1, EPOCH, text), **fields)  # type: ignore[arg-type]  # tests name fields


@given(TEXTS, st.integers(1, 80))
@settings(max_examples=150)
def test_parts_are_the_text_within_the_budget(text: str, budget: int) -> None:
    found = list(parts(3, text, budget))
    for one in found:
        assert one.place == 3
        assert text[one.start : one.start + len(one.text)] == one.text
        assert len(one.text.encode()) <= budget or len(one.text) == 1
    ends = [one.start + len(one.text) for one in found]
    for end, start in zip([0, *ends], [*(one.start for one in found), len(text)], strict=True):
        assert not text[end:start].strip()


def test_documents_of_one_group_are_together_in_their_order() -> None:
    works = [
        work("one", group={"trip": "x"}),
        work("two"),
        work("three", group={"trip": "x"}),
        work("four"),
    ]
    plan = planned(works, 100)
    assert [[part.text for part in bundle] for bundle in plan.bundles] == [["one", "three"], ["two", "four"]]
    assert not plan.rest


@given(st.lists(TEXTS, max_size=6), st.integers(1, 20))
@settings(max_examples=100)
def test_every_text_is_asked_about_or_left_to_the_rules(texts: list[str], tokens: int) -> None:
    plan = planned([work(text) for text in texts], tokens)
    told = [part for bundle in [*plan.bundles, plan.rest] for part in bundle]
    for place, text in enumerate(texts):
        own = sorted((part for part in told if part.place == place), key=lambda part: part.start)
        assert "".join("".join(part.text for part in own).split()) == "".join(text.split())
    for bundle in plan.bundles:
        size = sum(len(part.text.encode()) for part in bundle)
        assert size <= tokens * BYTES_PER_TOKEN or len(bundle) == 1


def test_of_a_book_only_its_beginning_is_asked_about() -> None:
    text = "A line of a book.\n" * 100
    plan = planned([work(text)], 10)
    assert sum(map(len, plan.bundles)) == PARTS
    [rest] = plan.rest
    assert text.endswith(rest.text)


def test_a_part_ends_where_a_line_does() -> None:
    assert [part.text for part in parts(0, "The first line.\nThe second line.", 20)] == [
        "The first line.\n",
        "The second line.",
    ]
