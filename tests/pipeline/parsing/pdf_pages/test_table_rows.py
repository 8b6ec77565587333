"""Tables of PDFs that have no rules."""

from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.parser_pool import ParserPool
from pipeline.parsing.pdf_pages.page_text import fold
from pipeline.parsing.pdf_pages.table_rows import Table, restored, with_table_rows
from tests.pipeline.parsing.test_document_parser import upload
from tests.support.pdf_writer import write_placed
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

RISKS = (
    ("Risk", "Measure"),
    ("Supplier fails to deliver", "Second supplier under contract"),
    ("Key persons leave", "Handbook and deputies"),
    ("Data are lost", "Nightly copies in another town"),
)
SHIFTS = (("Day", "Early", "Late"), ("Mon", "Ada", ""), ("Tue", "", "Bob"), ("Wed", "Cyd | Dan", "Eve"))


def placed(rows: Sequence[Sequence[str]], lefts: Sequence[float], pitch: float = 24) -> list[tuple[str, float, float]]:
    return [
        (cell, left, 100 + number * pitch)
        for number, row in enumerate(rows)
        for cell, left in zip(row, lefts, strict=True)
        if cell
    ]


def run_together(rows: Sequence[Sequence[str]]) -> str:
    return " ".join(cell for row in rows for cell in row if cell)


def test_each_line_of_a_table_is_a_row() -> None:
    text = f"The risks of this year.\n\n{run_together(RISKS)}\n\nThat is all."
    (page,) = with_table_rows(write_placed(placed(RISKS, (60, 300))), [text])
    rows = [f"| {' | '.join(row)} |" for row in RISKS]
    assert page == "\n\n".join(
        ["The risks of this year.", "\n".join([rows[0], "| --- | --- |", *rows[1:]]), "That is all."]
    )


def test_an_empty_cell_keeps_the_others_in_their_columns() -> None:
    (page,) = with_table_rows(write_placed(placed(SHIFTS, (60, 160, 300))), [run_together(SHIFTS)])
    assert page.splitlines()[2:] == ["| Mon | Ada |  |", "| Tue |  | Bob |", "| Wed | Cyd \\| Dan | Eve |"]


def test_two_tables_of_a_page_are_both_read_by_rows() -> None:
    shifts = [(text, left, top + 200) for text, left, top in placed(SHIFTS, (60, 160, 300))]
    data = write_placed([*placed(RISKS, (60, 300)), ("And the shifts of the week:", 60, 270), *shifts])
    text = f"{run_together(RISKS)}\n\nAnd the shifts of the week:\n\n{run_together(SHIFTS)}"
    (page,) = with_table_rows(data, [text])
    assert page.count("\n| --- |") == 2
    assert page.index("| Data are lost") < page.index("And the shifts") < page.index("| Mon | Ada |")


@pytest.mark.parametrize("mark", ["•", "-", "{}.", "({})"])
def test_a_list_is_no_table(mark: str) -> None:
    rows = [(mark.format(number), f"The item number {number} of the list") for number in range(1, 6)]
    text = run_together(rows)
    assert with_table_rows(write_placed(placed(rows, (60, 90))), [text]) == [text]


def test_columns_of_a_text_that_are_read_one_after_the_other_stay() -> None:
    rows = [(f"left line {number} goes on", f"right line {number} goes on") for number in range(9)]
    text = " ".join([*(left for left, _ in rows), *(right for _, right in rows)])
    assert with_table_rows(write_placed(placed(rows, (60, 320), 14)), [text]) == [text]


def test_rows_that_stand_apart_stay_as_they_are() -> None:
    text = "\n".join(" ".join(row) for row in RISKS)
    assert with_table_rows(write_placed(placed(RISKS, (60, 300))), [text]) == [text]


@given(st.binary(max_size=200))
def test_what_is_no_pdf_stays_as_it_is(data: bytes) -> None:
    assert with_table_rows(data, ["a", "b"]) == ["a", "b"]


@given(st.text(max_size=40), st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1, max_size=4))
def test_no_letter_is_lost(text: str, rows: list[tuple[str, str]]) -> None:
    around = f"{text}{run_together(rows)}{text}"
    found = restored(around, [Table(rows, [[0, 1]] * len(rows))])
    assert [*filter(str.isalnum, fold(found))] == [*filter(str.isalnum, fold(around))]


@pytest.fixture
async def parser() -> AsyncIterator[FileParser]:
    pool = ParserPool(max_workers=1, timeout_seconds=WAIT_TIMEOUT_SECONDS, memory_limit_mb=700)
    made = FileParser(pool, recognizes_text=False)
    yield made
    await made.aclose()


@pytest.mark.anyio
async def test_a_file_is_read_by_rows(parser: FileParser) -> None:
    data = write_placed([("The risks that the board knows of this year:", 60, 60), *placed(RISKS, (60, 300))])
    text = (await parser.parse_file(data, upload(data, "risks.pdf"))).text
    assert "| Data are lost | Nightly copies in another town |" in text.splitlines()
