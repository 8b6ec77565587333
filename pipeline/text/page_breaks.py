"""Pages in a canonical text: each page of a PDF or slide ends with a form feed, as in pdftotext's output.

The breaks lie in the text itself, so events, exports and a replay keep them. Text after the last break, which
was added later, is on no page.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any

PAGE_BREAK = "\f"
PAGED_TYPES = {"pdf": "page", "pptx": "slide", "odp": "slide", "image": "page"}
"""Document types whose texts have page breaks, with the word for such a part."""
SHEET_TYPES = {"xlsx": "sheet", "xls": "sheet", "ods": "sheet"}
"""Document types whose top headings are the names of sheets."""
_NOUNS = PAGED_TYPES | SHEET_TYPES
_BLANK = " \n\r\t"


def join_pages(pages: Iterable[str]) -> str:
    r"""Join the texts of pages, also empty ones.

    >>> join_pages(["One.", "", "Three."])
    'One.\n\n\x0c\n\n\x0c\n\nThree.\n\n\x0c'
    """
    parts = (part for page in pages for part in (without_page_breaks(page).strip(), PAGE_BREAK))
    return "\n\n".join(part for part in parts if part)


def split_pages(text: str) -> list[str]:
    r"""Split a text into its pages; one without breaks has none.

    >>> split_pages("One.\n\n\f\n\n\f\n\nThree.\n\n\f\n\nAdded later.")
    ['One.', '', 'Three.']
    """
    return [page.strip(_BLANK) for page in text.split(PAGE_BREAK)[:-1]]


def without_page_breaks(text: str) -> str:
    return text.replace(PAGE_BREAK, "\n")


def strip_blank(text: str) -> str:
    """Strip white space around a text, but not its page breaks: those number the pages."""
    return text.strip(_BLANK)


def page_breaks(text: str, document_type: str) -> list[int]:
    """Return the offsets of page breaks; none for types without pages."""
    if document_type not in PAGED_TYPES:
        return []
    return [found.start() for found in re.finditer(PAGE_BREAK, text)]


def page_label(breaks: list[int], start: int, end: int) -> str | None:
    """Return the number of the page that a span is on, or of its first and last page; None after all pages.

    >>> page_label([10, 20, 30], 2, 8), page_label([10, 20, 30], 12, 25), page_label([10, 20, 30], 31, 40)
    ('1', '2-3', None)
    """
    first = bisect_left(breaks, start) + 1
    if first > len(breaks):
        return None
    last = min(bisect_left(breaks, max(start, end - 1)) + 1, len(breaks))
    return str(first) if first == last else f"{first}-{last}"


def page_of_span(text: str, document_type: str, start: int, end: int) -> str | None:
    r"""Return the page of a span like `page_label`, for one span of a text that may be long.

    >>> page_of_span("One.\n\n\f\n\nTwo.\n\n\f", "pdf", 9, 13), page_of_span("One.\f", "text", 0, 3)
    ('2', None)
    """
    if document_type not in PAGED_TYPES or text.find(PAGE_BREAK, start) < 0:
        return None
    first = text.count(PAGE_BREAK, 0, start) + 1
    last = min(first + text.count(PAGE_BREAK, start, max(start, end - 1)), text.count(PAGE_BREAK))
    return str(first) if first == last else f"{first}-{last}"


def page_metadata(document_type: str, label: str | None) -> dict[str, str]:
    """Return what names a passage's page, slide or sheet in its metadata.

    >>> page_metadata("pdf", "12"), page_metadata("xlsx", "Budget"), page_metadata("pdf", None)
    ({'page': '12'}, {'sheet': 'Budget'}, {})
    """
    noun = _NOUNS.get(document_type)
    return {noun: label} if noun and label else {}


def page_phrase(document_type: str, metadata: Mapping[str, Any]) -> str | None:
    """Return what a passage's metadata say about its place in the document, for people.

    >>> page_phrase("pdf", {"page": "12-13"}), page_phrase("xlsx", {"sheet": "Budget"}), page_phrase("text", {})
    ('pages 12-13', 'sheet Budget', None)
    """
    noun = _NOUNS.get(document_type, "")
    label = metadata.get(noun)
    if label is None:
        return None
    plural = "s" if document_type in PAGED_TYPES and "-" in str(label) else ""
    return f"{noun}{plural} {label}"
