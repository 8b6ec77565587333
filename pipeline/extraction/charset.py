"""Bytes to text: byte-order marks, UTF-8, UTF-16, then whatever charset the bytes look like."""

import codecs
import re

from charset_normalizer import from_bytes

from pipeline.errors import ExtractionError

_SAMPLE = 65_536
_SHORT = 512
_ASCII = 0x7F
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f]")


def decode(data: bytes, mime_type: str | None = None) -> str:
    """The text; ExtractionError where the bytes are no text. A charset in `mime_type` is tried."""
    text = _decoded(data, mime_type)
    controls = len(_CONTROLS.findall(text[:_SAMPLE]))
    if controls * 50 > min(len(text), _SAMPLE):
        raise ExtractionError(
            "The file is not text, and no supported format was recognised in it. Send a supported file "
            "(PDF, DOCX, PPTX, XLSX, CSV, EML, HTML, JSON, Markdown, text, source code) with its name."
        )
    return text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes, mime_type: str | None) -> str:
    for mark, marked in _MARKS:
        if data.startswith(mark):
            return data.decode(marked, errors="replace")
    named = _CHARSET.search(mime_type or "")
    candidates = ("utf-8", str(named[1]) if named else None, _wide(data))
    for charset in filter(None, candidates):
        try:
            return data.decode(charset)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode(_guessed(data), errors="replace")


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: in most scripts every other byte is then nearly always the same."""
    sample = data[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 4 < len(sample) or len(data) % 2:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _guessed(data: bytes) -> str:
    foreign = sum(byte > _ASCII for byte in data[:_SHORT])
    if len(data) <= _SHORT and foreign * 3 < len(data):
        # Too little for statistics, and mostly ASCII: western European, by far the most frequent.
        return "cp1252"
    best = from_bytes(data[:_SAMPLE]).best()
    return best.encoding if best is not None else "latin-1"
