"""Parsing of mail files (RFC 5322) to the parts that `mail_text` reads."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from typing import cast

from pipeline.parsing.mail.mail_text import MailPart, attached_parts, decode_header_value, header_lines, mail_text

_MAX_DEPTH = 50
"""Nesting limit of parts; deeper mails are attacks on the parser."""
_HEADER_END = re.compile(rb"(\r?\n\r?\n)")
_HEADER_LINE = re.compile(rb"From |[!-9;-~]*:|[ \t]")
_SURE_HEADER = re.compile(
    rb"(?:[A-Za-z0-9]+-[A-Za-z0-9-]+|from|to|cc|bcc|subject|date|sender|received|references)[ \t]*:", re.IGNORECASE
)
"""A name with a hyphen or a common one, unlike `Note: …` in a text."""
_BLANK_BEFORE_COLON = re.compile(rb"^([^ \t:]+)[ \t]+:")


@dataclass(frozen=True, slots=True)
class MailFile:
    """Parsed mail; its text begins with the `shown_headers` that it has."""

    root: MailPart
    shown_headers: tuple[str, ...] = ("subject", "from", "to", "cc", "date")

    @property
    def subject(self) -> str:
        return self.root.headers.get("subject", "")

    @property
    def text(self) -> str:
        head = "\n".join(header_lines(self.root.headers, self.shown_headers))
        return f"{head}\n\n{mail_text(self.root)}".strip()

    @property
    def attachments(self) -> list[MailPart]:
        return list(attached_parts(self.root))


def read_mail(data: bytes) -> MailFile:
    """Parse a mail; one with broken headers or boundaries is read as far as possible."""
    return MailFile(_part_of(message_from_bytes(_with_whole_header(data.lstrip(b"\r\n")))))


def _with_whole_header(data: bytes) -> bytes:
    """Repair lines that would end the header early, so that the headers behind them do not become text.

    A line without a name belongs to the header before it; blanks before a colon go. Behind the last line that is
    surely a header, everything stays.
    """
    head, separator, body = _HEADER_END.split(data, maxsplit=1) if _HEADER_END.search(data) else (data, b"", b"")
    lines = head.splitlines()
    sure = [number for number, line in enumerate(lines) if _SURE_HEADER.match(line)]
    if not sure or all(_HEADER_LINE.match(line) for line in lines[: sure[-1]]):
        return data
    repaired = [
        line
        if number > sure[-1] or _HEADER_LINE.match(line)
        else _BLANK_BEFORE_COLON.sub(rb"\1:", line)
        if _SURE_HEADER.match(line)
        else b" " + line
        for number, line in enumerate(lines)
    ]
    return b"\n".join(repaired) + separator + body


def _part_of(message: Message, depth: int = 0) -> MailPart:
    nested = message.get_payload() if message.is_multipart() and depth < _MAX_DEPTH else []
    children = cast("list[Message]", nested)
    media_type = message.get_content_type()
    if media_type.startswith("multipart/") and not message.is_multipart():
        media_type = "text/plain"  # its boundary never comes, so its text is all there is
    return MailPart(
        media_type=media_type,
        data=None if message.is_multipart() else _content(message),
        charset=_charset(message),
        filename=_filename(message),
        is_attachment=str(message.get("content-disposition", "")).strip().lower().startswith("attachment"),
        headers=dict(_headers(message)),
        children=tuple(_part_of(each, depth + 1) for each in children),
    )


def _content(message: Message) -> bytes:
    payload = message.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _charset(message: Message) -> str | None:
    charset = message.get_param("charset")
    return charset[2] if isinstance(charset, tuple) else charset


def _filename(message: Message) -> str:
    try:
        name = message.get_filename()
    except (LookupError, ValueError, TypeError):
        name = None
    return decode_header_value(_repaired(name or "")).replace("/", "_")


def _headers(message: Message) -> Iterator[tuple[str, str]]:
    """Yield decoded headers, the first of each name last, so that it wins."""
    for name, value in reversed(list(message.raw_items())):
        yield name.lower(), decode_header_value(_repaired(str(value)))


def _repaired(value: str) -> str:
    """Decode raw 8-bit characters, which the standard library keeps as surrogates."""
    raw = value.encode(errors="surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")
