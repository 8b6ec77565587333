"""Bodies of the pages of a PDF (extension of the contract)."""

from schemas.base import ResponseBody
from schemas.http.field_types import Count


class PageBox(ResponseBody):
    """Box on a page, in shares of its width and height from the upper left corner."""

    left: float
    top: float
    width: float
    height: float


class PageSize(ResponseBody):
    """Size of a page, in points."""

    width: float
    height: float


class MarkedSpan(ResponseBody):
    """Page where a span of the document's text stands, numbered from 1, with a box for each line; None: not found."""

    page: Count | None
    boxes: list[PageBox]


class PagesResponse(ResponseBody):
    """Pages of a document's file, and where each of the requested spans stands."""

    pages: list[PageSize]
    marks: list[MarkedSpan]


class TextLine(ResponseBody):
    """Line of text on a page."""

    text: str
    box: PageBox


class PageTextResponse(ResponseBody):
    """Lines of a page, in the order in which they are read."""

    lines: list[TextLine]
