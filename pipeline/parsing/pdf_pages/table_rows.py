"""Rows of tables without rules, which the parser of PDFs runs together into one paragraph."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipeline.parsing.pdf_pages.page_text import fold

_MIN_ROWS: Final = 3
_MIN_ROWS_OF_MANY_CELLS, _MANY_CELLS = 2, 3
_MIN_GAP: Final = 1.0
"""Space between two cells, in heights of the line; justified text has less between words."""
_MAX_SEGMENTS: Final = 20_000
_ROWS_ABOVE: Final = 8
"""Lines above one that it is compared with."""
_SAME_EDGE: Final = 3.0
"""Points by which the cells of a column may be out of line."""
_ENUMERATOR: Final = re.compile(r"\W*\d{0,3}\W*|\(?\w[.)]")
"""Bullet or number before an item of a list, which stands apart from it like a cell."""


@dataclass(frozen=True, slots=True)
class Table:
    """Texts of the cells by row, and the column of each."""

    rows: Sequence[Sequence[str]]
    columns: Sequence[Sequence[int]]

    @property
    def is_list(self) -> bool:
        """Return whether its first column holds bullets or numbers only."""
        return all(_ENUMERATOR.fullmatch(row[0]) for row in self.rows if len(row) > 1)

    def markdown(self) -> str:
        """Write a row for each line, of which the first is the head."""
        width = max(column for row in self.columns for column in row) + 1
        lines = [_row(row, columns, width) for row, columns in zip(self.rows, self.columns, strict=True)]
        return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _row(cells: Sequence[str], columns: Sequence[int], width: int) -> str:
    texts = [" ".join(cell for cell, at in zip(cells, columns, strict=True) if at == column) for column in range(width)]
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a line on a page, in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    def is_beside(self, other: "Segment") -> bool:
        """Return whether both stand on one line."""
        return min(self.top, other.top) - max(self.bottom, other.bottom) > 0.5 * min(self.height, other.height)

    def joined(self, other: "Segment") -> "Segment":
        lower, upper = min(self.bottom, other.bottom), max(self.top, other.top)
        return Segment(min(self.left, other.left), lower, max(self.right, other.right), upper)

    def is_below(self, other: "Segment") -> bool:
        """Return whether both begin, end or have their middle in one column."""
        pairs = ((self.left, other.left), (self.right, other.right), (self.middle, other.middle))
        return any(abs(one - another) <= _SAME_EDGE for one, another in pairs)


def with_table_rows(data: bytes, pages: Sequence[str]) -> list[str]:
    """Return the pages' texts with a row for each line of a table that has none; `data` is the PDF."""
    import pypdfium2 as pdfium  # type: ignore[import-untyped]  # noqa: PLC0415 - it ships no types; only PDFs need it

    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError:
        return list(pages)
    try:
        shown = min(len(pages), len(document))
        return [_with_rows_of(document[number], pages[number]) for number in range(shown)] + [*pages[shown:]]
    except pdfium.PdfiumError:
        return list(pages)
    finally:
        document.close()


def _with_rows_of(page: Any, text: str) -> str:
    shown = page.get_textpage()
    count = shown.count_rects()
    tables = tables_of(Segment(*shown.get_rect(number)) for number in range(count)) if count <= _MAX_SEGMENTS else []
    written = [Table([[_text_of(shown, cell) for cell in row] for row in table], columns_of(table)) for table in tables]
    return restored(text, [table for table in written if not table.is_list])


def _text_of(page: Any, cell: Segment) -> str:
    return " ".join(page.get_text_bounded(cell.left - 1, cell.bottom, cell.right + 1, cell.top).split())


def tables_of(segments: Iterable[Segment]) -> list[list[list[Segment]]]:
    """Return the tables on a page as rows of cells: lines whose parts stand apart, below each other in columns."""
    tables: list[list[list[Segment]]] = [[]]
    for line in _lines(segments):
        cells = _cells(line)
        above = tables[-1]
        if above and not _continues(above, cells):
            tables.append([])
        if len(cells) > 1 or tables[-1]:
            tables[-1].append(cells)
    return [table for table in map(_without_text_below, tables) if _is_table(table)]


def _lines(segments: Iterable[Segment]) -> list[list[Segment]]:
    """Group segments by the line that they stand on, from the top of the page."""
    lines: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda one: -one.top):
        if lines and segment.is_beside(lines[-1][0]):
            lines[-1].append(segment)
        else:
            lines.append([segment])
    return lines


def _cells(line: Iterable[Segment]) -> list[Segment]:
    cells: list[Segment] = []
    for segment in sorted(line, key=lambda one: one.left):
        if cells and segment.left - cells[-1].right < _MIN_GAP * segment.height:
            cells[-1] = cells[-1].joined(segment)
        else:
            cells.append(segment)
    return cells


def _continues(table: Sequence[Sequence[Segment]], cells: Sequence[Segment]) -> bool:
    """Return whether each cell of a line belongs to a column of the table above."""
    return all(any(cell.is_below(other) for row in table[-_ROWS_ABOVE:] for other in row) for cell in cells)


def _without_text_below(table: list[list[Segment]]) -> list[list[Segment]]:
    """Leave out the lines after a table that begin where its first column does."""
    rows = [number for number, row in enumerate(table, 1) if len(row) > 1]
    return table[: max(rows, default=0)]


def _is_table(table: Sequence[Sequence[Segment]]) -> bool:
    rows = [row for row in table if len(row) > 1]
    return len(rows) >= _MIN_ROWS or sum(len(row) >= _MANY_CELLS for row in rows) >= _MIN_ROWS_OF_MANY_CELLS


def columns_of(table: Sequence[Sequence[Segment]]) -> list[list[int]]:
    """Return the column of each cell, by those of the row with most cells."""
    widest = max(table, key=len)
    return [
        [min(range(len(widest)), key=lambda at: abs(widest[at].middle - cell.middle)) for cell in row] for row in table
    ]


def restored(text: str, tables: Sequence[Table]) -> str:
    """Write tables in place of the paragraphs that run their rows together; what is none stays as it is."""
    if not tables:
        return text
    parts = [fold(character) for character in text]
    places = [at for at, part in enumerate(parts) for _ in part]
    letters, end, found = "".join(parts), 0, list[str]()
    for table in tables:
        sought = "".join(fold(character) for row in table.rows for cell in row for character in cell)
        begin = letters.find(sought) if sought else -1
        if begin < 0:
            continue
        first, last = places[begin], places[begin + len(sought) - 1]
        if first >= end and "\n" not in text[first:last]:  # lines that stand apart already are rows
            found += [text[end:first].strip(), table.markdown()]
            end = last + 1
    return "\n\n".join(filter(None, [*found, text[end:].strip()])) if found else text
