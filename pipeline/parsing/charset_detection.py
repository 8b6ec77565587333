"""Decoding of text files: byte-order marks, UTF-8, the charset that is declared, UTF-16, then a statistical guess."""

import codecs
import re

from charset_normalizer import from_bytes

from pipeline.errors import ParsingError

_SAMPLE_BYTES = 65_536
_DECLARATION_BYTES = 1024
"""Where browsers look for a charset at the beginning of a page."""
_MIN_STATISTICS_BYTES = 512
_MAX_ASCII_BYTE = 0x7F
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHARSET_PARAMETER = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_DECLARATION = re.compile(
    rb"""<meta\b[^>]{0,300}?\bcharset\s*=\s*["']?\s*([\w.:-]+)
    | <\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)
    | @charset\s*["']([\w.:-]+)
    | ^[ \t]*(?:\#|//|;|--).{0,40}?coding[:=][ \t]*([\w.:-]+)
    | ^[A-Z]+;(?:[^:\r\n]{0,100};)?CHARSET=([\w.-]+)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""The charset that a page, XML, style sheet, source code or contact declares about itself."""
_CHARSETS = {
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "iso-2022-jp": "iso2022_jp_ext",
    "iso-8859-1": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-8-i": "iso-8859-8",
    "unicode-1-1-utf-7": "utf-7",
}
"""Charsets as mails and pages name them; most programs mean the larger set of the same family."""
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0e-\x1f]")


def decode(data: bytes, mime_type: str | None = None) -> str:
    """Decode text and normalize its line ends; ParsingError for binary data.

    After UTF-8, the charset is tried that `mime_type` or the beginning of the text declares.
    """
    text = _decode_by_candidates(data, mime_type)
    controls = len(_CONTROL_CHARACTERS.findall(text[:_SAMPLE_BYTES]))
    if controls * 50 > min(len(text), _SAMPLE_BYTES):
        raise ParsingError(
            "The file is not text, and no supported format was recognised in it. Send a supported file "
            "(PDF, DOCX, PPTX, XLSX, CSV, EML, HTML, JSON, Markdown, text, source code) with its name."
        )
    return text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")


def _decode_by_candidates(data: bytes, mime_type: str | None) -> str:
    for mark, charset in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(charset, errors="replace")
    declared = _CHARSET_PARAMETER.search(mime_type or "")
    candidates = ("utf-8", known_codec(declared[1]) if declared else None, _declared_codec(data), _detect_utf16(data))
    for candidate in filter(None, candidates):
        try:
            return data.decode(candidate)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode(_guess_charset(data), errors="replace")


def known_codec(charset: str) -> str | None:
    """Return the codec for a charset as mails and pages name it; None for an unknown one."""
    name = charset.strip("\"' ").lower()
    try:
        return codecs.lookup(_CHARSETS.get(name, name)).name if name else None
    except (LookupError, ValueError):
        return None


def _declared_codec(data: bytes) -> str | None:
    declared = _DECLARATION.search(data[:_DECLARATION_BYTES])
    return known_codec(next(filter(None, declared.groups())).decode("ascii", "ignore")) if declared else None


def _detect_utf16(data: bytes) -> str | None:
    """Detect UTF-16 without a mark: in most scripts every other byte is then nearly always zero."""
    sample = data[:_SAMPLE_BYTES]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 4 < len(sample) or len(data) % 2:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _guess_charset(data: bytes) -> str:
    non_ascii = sum(byte > _MAX_ASCII_BYTE for byte in data[:_MIN_STATISTICS_BYTES])
    if len(data) <= _MIN_STATISTICS_BYTES and non_ascii * 3 < len(data):
        # Too short for statistics and mostly ASCII: assume Western European, the most frequent charset.
        return "cp1252"
    best = from_bytes(data[:_SAMPLE_BYTES]).best()
    return best.encoding if best is not None else "latin-1"
