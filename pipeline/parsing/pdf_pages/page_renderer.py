"""Pages of PDFs as pictures, their lines, and where passages stand, made in a process that can be killed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipeline.errors import ParsingError
from pipeline.parsing.parser_pool import WorkerPool
from pipeline.parsing.pdf_pages.page_text import Box, PageLine

_MODULE: Final = f"{__package__}.page_process"
"""By name: importing it would load pdfium into the service."""
_TIMEOUT_SECONDS: Final = 20.0
_MEMORY_MB: Final = 768


class NoSuchPageError(ParsingError):
    """Page that a PDF does not have."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Text to find in a PDF; `page`: number of the page it should be on, from 0, None if unknown."""

    text: str
    page: int | None


@dataclass(frozen=True, slots=True)
class PassagePlace:
    """Page of a passage, from 0, with its boxes there."""

    page: int
    boxes: Sequence[Box]


@dataclass(frozen=True, slots=True)
class PageOutline:
    """Widths and heights of all pages, in points, and the place of each passage; None: it was not found."""

    sizes: Sequence[tuple[float, float]]
    places: Sequence[PassagePlace | None]


class PageRenderer(WorkerPool):
    """One process that draws pages. All methods raise UnparsableFileError or ParsingError."""

    module = _MODULE

    def __init__(self) -> None:
        super().__init__(max_workers=1, timeout_seconds=_TIMEOUT_SECONDS, memory_limit_mb=_MEMORY_MB)

    async def outline(self, pdf: bytes, passages: Sequence[Passage]) -> PageOutline:
        wanted = [[one.text, one.page] for one in passages]
        answer, _ = await self.request(pdf, {"want": "outline", "passages": wanted})
        places = [PassagePlace(*found[0]) if found else None for found in answer.get("places", [None] * len(wanted))]
        return PageOutline([(width, height) for width, height in answer.get("sizes", ())], places)

    async def picture(self, pdf: bytes, page: int, width: int) -> bytes:
        """Draw a page as WebP, `width` pixels wide."""
        answer, picture = await self.request(pdf, {"want": "picture", "page": page, "width": width})
        _require_page(answer, page)
        return picture

    async def lines(self, pdf: bytes, page: int) -> list[PageLine]:
        answer, _ = await self.request(pdf, {"want": "lines", "page": page})
        _require_page(answer, page)
        return [PageLine(text, tuple(box)) for text, box in answer["lines"]]


def _require_page(answer: dict[str, Any], page: int) -> None:
    if page >= answer["count"]:
        raise NoSuchPageError(f"The file has {answer['count']} pages.")
