"""PDF files of several pages, written by pdfium."""

import ctypes
import io
from collections.abc import Mapping, Sequence

import pypdfium2  # type: ignore[import-untyped]  # it ships no types

_A4 = (595, 842)
_LINE_HEIGHT = 18


def write_pdf(pages: Sequence[str], *, rotations: Mapping[int, int] | None = None) -> bytes:
    """Write a page for each text, `rotations` degrees turned by its index; an empty text is an empty page."""
    document = pypdfium2.PdfDocument.new()
    font = pypdfium2.raw.FPDFText_LoadStandardFont(document.raw, b"Helvetica")
    for index, text in enumerate(pages):
        page = document.new_page(*_A4)
        for row, line in enumerate(text.splitlines()):
            _draw_line(document, page, font, line, (60, _A4[1] - 60 - row * _LINE_HEIGHT))
        page.gen_content()
        page.set_rotation((rotations or {}).get(index, 0))
    return to_bytes(document)


def write_placed(texts: Sequence[tuple[str, float, float]]) -> bytes:
    """Write a page with these texts, each at its place from the left and the top, in points."""
    document = pypdfium2.PdfDocument.new()
    font = pypdfium2.raw.FPDFText_LoadStandardFont(document.raw, b"Helvetica")
    page = document.new_page(*_A4)
    for text, left, top in texts:
        _draw_line(document, page, font, text, (left, _A4[1] - top))
    page.gen_content()
    return to_bytes(document)


def merge_pdfs(*files: bytes) -> bytes:
    """Join the pages of several files."""
    merged = pypdfium2.PdfDocument.new()
    for file in files:
        merged.import_pages(pypdfium2.PdfDocument(file))
    return to_bytes(merged)


def to_bytes(document: pypdfium2.PdfDocument) -> bytes:
    """Save a document."""
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _draw_line(
    document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, font: object, line: str, place: tuple[float, float]
) -> None:
    words = pypdfium2.raw.FPDFPageObj_CreateTextObj(document.raw, font, 12.0)
    encoded = f"{line}\0".encode("utf-16-le")
    buffer = ctypes.create_string_buffer(encoded, len(encoded))
    pypdfium2.raw.FPDFText_SetText(words, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
    pypdfium2.raw.FPDFPageObj_Transform(words, 1, 0, 0, 1, *place)
    pypdfium2.raw.FPDFPage_InsertObject(page.raw, words)
