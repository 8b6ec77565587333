"""The process that draws pages of PDFs: `python -m pipeline.parsing.pdf_pages.page_process <memory in MB>`.

It speaks as `pipeline.parsing.parser_process` does. A request asks for a `picture` of a page, or for the sizes of all
pages and where `passages` stand on them, or for the `lines` of a page. Pages are numbered from 0.
"""

import ctypes
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any, Final

import PIL.Image
import pypdfium2 as pdfium  # type: ignore[import-untyped]  # it ships no types

from pipeline.parsing.parser_process import die_with_parent, encode_frame, limit_memory, read_frame, take_answer_pipe
from pipeline.parsing.pdf_pages.page_text import Box, PageCharacter, find_boxes, lines_of

_QUALITY: Final = 80
_EFFORT: Final = 1
"""WebP's effort of 0 to 6: a page of text takes 35 ms and 58 KB at 1,100 pixels; more effort saves a tenth."""
_MOST_PIXELS: Final = 12_000_000
"""Of one picture; longer pages are drawn coarser."""
_SHARES: Final = 1_000_000
"""pdfium counts in whole pixels: boxes are asked for on a page of this many."""
_DECIMALS: Final = 5


def main() -> None:
    """Serve until stdin ends."""
    die_with_parent()
    answers = take_answer_pipe()
    PIL.Image.preinit()
    limit_memory(int(sys.argv[1]) * 1024 * 1024)
    while (request := read_frame(sys.stdin.buffer)) is not None:
        answers.write(_answer(*request))
        answers.flush()


def _answer(header: dict[str, Any], body: bytes) -> bytes:
    try:
        with pdfium.PdfDocument(body) as document:
            details, picture = _read(document, header)
    except (pdfium.PdfiumError, MemoryError, OSError, ValueError) as error:
        return encode_frame({"ok": False, "error": str(error)}, b"")
    return encode_frame({"ok": True, **details}, picture)


def _read(document: Any, header: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    count, number = len(document), header.get("page", 0)
    if number >= count:
        return {"count": count}, b""
    if header["want"] == "picture":
        return {"count": count}, _draw(document[number], header["width"])
    if header["want"] == "lines":
        lines = [[line.text, line.box] for line in lines_of(_characters(document[number]))]
        return {"count": count, "lines": lines}, b""
    sizes = [document.get_page_size(at) for at in range(count)]
    found = [_locate(document, text, page) for text, page in header["passages"]]
    return {"count": count, "sizes": sizes, "places": found}, b""


def _draw(page: Any, width: int) -> bytes:
    natural_width, natural_height = page.get_size()
    most = (_MOST_PIXELS / (natural_width * natural_height)) ** 0.5
    out = BytesIO()
    picture = page.render(scale=min(width / natural_width, most)).to_pil().convert("RGB")
    picture.save(out, "WEBP", quality=_QUALITY, method=_EFFORT)
    return out.getvalue()


def _locate(document: Any, text: str, page: int | None) -> list[tuple[int, Sequence[Box]]]:
    """Return the page of a text with its boxes there; looks at the neighbours of the page it should be on, too."""
    pages = range(len(document)) if page is None else (page, page + 1, page - 1)
    for number in pages:
        if 0 <= number < len(document) and (boxes := find_boxes(list(_characters(document[number])), text)):
            return [(number, boxes)]
    return []


def _characters(page: Any) -> Iterator[PageCharacter]:
    """Read the characters of a page in the order of its text."""
    text_page = page.get_textpage()
    line = 0
    for index in range(text_page.count_chars()):
        code = pdfium.raw.FPDFText_GetUnicode(text_page, index)
        text = chr(code) if 0 < code <= sys.maxunicode and not 0xD800 <= code < 0xE000 else ""
        if text in {"\r", "\n"}:
            line += text == "\n"
        else:
            yield PageCharacter(text, line, None if text.isspace() else _box(page, text_page.get_charbox(index, True)))


def _box(page: Any, corners: tuple[float, float, float, float]) -> Box:
    left, bottom, right, top = corners
    (x, y), (other_x, other_y) = _place(page, left, top), _place(page, right, bottom)
    box = min(x, other_x), min(y, other_y), abs(x - other_x), abs(y - other_y)
    return tuple(round(value / _SHARES, _DECIMALS) for value in box)  # type: ignore[return-value]  # of the same length


def _place(page: Any, x: float, y: float) -> tuple[int, int]:
    """Return where a point of the page is shown: pages may be turned and cropped."""
    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium.raw.FPDF_PageToDevice(page, 0, 0, _SHARES, _SHARES, 0, x, y, across, down)
    return across.value, down.value


if __name__ == "__main__":
    main()
