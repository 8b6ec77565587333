"""Text of a mail: its parts in order, the richer of two alternatives, invitations and forwarded mails readable."""

import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.errors import MessageError
from email.header import decode_header, make_header
from email.parser import HeaderParser
from typing import Final

from pipeline.errors import ParsingError
from pipeline.parsing.charset_detection import decode, known_codec
from pipeline.parsing.mail.calendar_text import calendar_to_text, is_calendar
from pipeline.parsing.markdown_conversion import flatten_layout_tables, to_markdown

_CALENDAR_TYPES: Final = frozenset({"text/calendar", "application/ics"})
_REPORT_TYPES: Final = frozenset({"message/delivery-status", "message/disposition-notification"})
_RETURNED_HEADERS_TYPE: Final = "text/rfc822-headers"
"""Type of the part of a bounce that holds the header of the mail that came back (RFC 6522)."""
_MIN_COVERED: Final = 0.8
"""Share of the HTML's words below which the plain text beside it is only a stub."""
_MAX_ASCII_BYTE: Final = 0x7F
_MAX_WRONG_SHARE: Final = 0.2
"""Undecodable characters per byte outside ASCII up to which the declared charset is believed."""
_SEVEN_BIT_CHARSETS: Final = ("iso-2022", "iso2022", "hz", "utf-7", "unicode-1-1-utf-7")
"""Charsets whose bytes are all ASCII, so that decoding them as UTF-8 succeeds with rubbish."""
_DOUBLE_BYTE_CODECS: Final = frozenset({"big5", "cp949", "cp932", "gb18030", "euc_jp"})
_MIN_BYTES: Final = 8
"""Characters outside ASCII from which a text that decodes as another charset is believed to be of that one."""
_WORD = re.compile(r"\w{2,}")
_ADDRESS_IN_TEXT = re.compile(r"https?://\S+")
_FORWARDED_HEADERS: Final = ("from", "date", "subject", "to", "cc")


@dataclass(frozen=True, slots=True)
class MailPart:
    """Part of a mail; `data` is decoded from its transfer encoding, None if it has to be fetched by `handle`.

    Header names are lower case. A filename may be missing, also of attachments. `is_damaged`: its transfer encoding
    can't be decoded.
    """

    media_type: str
    data: bytes | None = None
    charset: str | None = None
    filename: str = ""
    is_attachment: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    children: "tuple[MailPart, ...]" = ()
    id: str = ""
    handle: str = ""
    size: int = 0
    is_damaged: bool = False

    @property
    def is_text(self) -> bool:
        """Return whether the part belongs to the text of the mail, rather than being attached."""
        if self.media_type in _CALENDAR_TYPES | _REPORT_TYPES:
            return True
        return self.media_type.startswith("text/") and not self.filename and not self.is_attachment

    @property
    def name(self) -> str:
        """Filename, or one made of the type."""
        return self.filename or f"attachment{mimetypes.guess_extension(self.media_type) or ''}"


def mail_text(part: MailPart) -> str:
    """Return the readable text of a part and everything inside it, as Markdown."""
    return "\n\n".join(text for text in _texts(part) if text)


def text_parts(part: MailPart) -> Iterator[MailPart]:
    if part.children:
        for child in part.children:
            yield from text_parts(child)
    elif part.is_text:
        yield part


def attached_parts(part: MailPart) -> Iterator[MailPart]:
    """Yield the parts that are files, also those of forwarded mails."""
    if part.children:
        for child in part.children:
            yield from attached_parts(child)
    elif not part.is_text and not part.media_type.startswith("multipart/") and (part.data or part.handle or part.size):
        yield part


def _texts(part: MailPart) -> list[str]:
    if part.media_type == "message/rfc822" and part.children:
        return [_forwarded(part)]
    if part.media_type == "multipart/alternative":
        return _best_alternative(part.children)
    if part.children:
        texts = [text for child in part.children for text in _texts(child)]
        return list(dict.fromkeys(texts))  # invitations come twice, as text and as file
    return [_leaf_text(part)] if part.is_text and part.data else []


def _best_alternative(children: Iterable[MailPart]) -> list[str]:
    """Return the plain text if it says all that the HTML says, else the HTML; invitations in any case."""
    plain: list[str] = []
    rich: list[str] = []
    others: list[str] = []
    for child in children:
        group = others if child.media_type in _CALENDAR_TYPES else plain if child.media_type == "text/plain" else rich
        if child.media_type != "text/x-amp-html":
            group += _texts(child)
    chosen = plain if not any(rich) or _covers("\n".join(plain), "\n".join(rich)) else rich
    return [*chosen, *others]


def _covers(plain: str, rich: str) -> bool:
    words = set(_WORD.findall(_ADDRESS_IN_TEXT.sub(" ", rich).lower()))
    known = set(_WORD.findall(plain.lower()))
    return len(words & known) >= _MIN_COVERED * len(words)


def _leaf_text(part: MailPart) -> str:
    text = decode_text(part.data or b"", part.charset)
    if part.media_type == _RETURNED_HEADERS_TYPE:
        found = HeaderParser().parsestr(text.lstrip())
        headers = {name.lower(): decode_header_value(str(value)) for name, value in found.items()}
        return "  \n".join(header_lines(headers))
    if part.media_type in _CALENDAR_TYPES or is_calendar(text):
        return calendar_to_text(text) or text.strip()
    if part.media_type == "text/html":
        return to_markdown(flatten_layout_tables(text))
    return text.strip()


def _forwarded(part: MailPart) -> str:
    """Write a forwarded mail with its header; Gmail keeps the header with the part or with its only child."""
    headers = dict(part.headers)
    for child in part.children[:1]:
        headers |= child.headers
    body = "\n\n".join(text for child in part.children for text in _texts(child) if text)
    parts = ("---------- Forwarded message ---------", "  \n".join(header_lines(headers)), body)
    return "\n\n".join(each for each in parts if each)


def header_lines(headers: Mapping[str, str], names: Iterable[str] = _FORWARDED_HEADERS) -> list[str]:
    """Write the headers that people read; all others concern programs."""
    return [f"{name.capitalize()}: {headers[name]}" for name in names if headers.get(name)]


def decode_text(data: bytes, charset: str | None) -> str:
    """Decode by the declared charset if UTF-8 is impossible or proves nothing, else by statistics."""
    declared = (charset or "").strip("\"' ").lower()
    codec = known_codec(declared)
    attempts = ["utf-8", codec] if not declared.startswith(_SEVEN_BIT_CHARSETS) else [codec, "utf-8"]
    for attempt in attempts:
        if attempt is None:
            continue
        try:
            return _normalize_line_ends(_undo_transcoding(data.decode(attempt), codec))
        except (UnicodeDecodeError, ValueError):
            continue
    nearly = data.decode(codec or "latin-1", errors="replace")
    if codec and nearly.count("\ufffd") <= _MAX_WRONG_SHARE * sum(byte > _MAX_ASCII_BYTE for byte in data):
        return _normalize_line_ends(nearly)
    try:
        return decode(data)
    except ParsingError:
        return _normalize_line_ends(nearly)


def _undo_transcoding(text: str, codec: str | None) -> str:
    """Return what a text was before some server took its bytes for Latin-1 and wrote them as UTF-8."""
    is_transcoded = (
        codec in _DOUBLE_BYTE_CODECS and sum("\x80" <= character <= "\xff" for character in text) >= _MIN_BYTES
    )
    if not is_transcoded or max(text) > "\xff":
        return text
    try:
        return text.encode("latin-1").decode(str(codec))
    except UnicodeDecodeError:
        return text


def _normalize_line_ends(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")


def decode_header_value(value: str) -> str:
    """Decode the encoded words of a header (RFC 2047), on one line."""
    value = " ".join(value.split())
    if "=?" not in value:
        return value
    try:
        return " ".join(str(make_header(decode_header(value))).split())
    except (MessageError, UnicodeDecodeError, LookupError, ValueError):
        return value
