"""Parsing of Outlook's .msg files (MS-OXMSG: MAPI properties in an OLE file) to the parts that `mail_text` reads."""

import codecs
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.parser import HeaderParser
from io import BytesIO
from typing import Final

import olefile

from pipeline.parsing.mail.compressed_rtf import RtfError, decompress_rtf
from pipeline.parsing.mail.mail_file import MailFile
from pipeline.parsing.mail.mail_text import MailPart, decode_header_value

OLE_SIGNATURE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MSG_ERRORS: Final = (OSError, ValueError, LookupError, struct.error, AttributeError, TypeError, RecursionError)
"""Errors of olefile and of this module for damaged files."""
_PROPERTIES: Final = "__properties_version1.0"
_STREAM: Final = "__substg1.0_"
_NAMED: Final = ("__nameid_version1.0", "__substg1.0_00030102")
_MAX_DEPTH: Final = 8
_MAX_ATTACHMENTS: Final = 500
_HEADER_BYTES: Final = {"message": 32, "embedded": 24, "part": 8}
_UNICODE, _STRING8, _BINARY, _INTEGER, _TIME = 0x001F, 0x001E, 0x0102, 0x0003, 0x0040
_EPOCH: Final = datetime(1601, 1, 1, tzinfo=UTC)
_BY_REFERENCE: Final = frozenset({2, 3, 4, 7})
"""Methods of attachments whose content is somewhere else."""
_BLANK_LINES: Final = re.compile(r"[ \t\xa0]*\n(?:[ \t\xa0]*\n)+")
"""Outlook's plain texts have an empty line for each paragraph mark, and often more."""
_FROM_TEXT, _RTF_HEADER_BYTES = b"\\fromtext", 300
"""Word of an RTF that Outlook made from the plain text beside it."""
_RECIPIENT_FIELDS: Final = {1: "to", 2: "cc"}
# Properties (MS-OXPROPS).
_CLASS, _SUBJECT, _BODY, _HTML, _RTF, _HEADERS = 0x001A, 0x0037, 0x1000, 0x1013, 0x1009, 0x007D
_SUBMITTED, _DELIVERED, _CODE_PAGE, _MESSAGE_CODE_PAGE = 0x0039, 0x0E06, 0x3FDE, 0x3FFD
_SENDERS: Final = ((0x0042, 0x5D02, 0x0065), (0x0C1A, 0x5D01, 0x0C1F))
"""Name, SMTP address and address of whom a mail is from, then of who sent it."""
_NAME, _SMTP_ADDRESS, _ADDRESS, _RECIPIENT_TYPE = 0x3001, 0x39FE, 0x3003, 0x0C15
_DATA, _LONG_FILENAME, _FILENAME, _MIME_TYPE, _METHOD = 0x3701, 0x3707, 0x3704, 0x370E, 0x3705
_APPOINTMENT: Final = {0x820D: "Start", 0x820E: "End", 0x8208: "Where"}
"""Named properties of appointments and invitations, by their numbers in PSETID_Appointment."""


def is_msg_file(data: bytes) -> bool:
    """Return whether an OLE file is a mail, rather than an office document."""
    return data.startswith(OLE_SIGNATURE) and _PROPERTIES.encode("utf-16-le") in data


def read_msg(data: bytes) -> MailFile:
    """Parse a .msg file; one of `MSG_ERRORS` if it is damaged.

    Bodies that exist as RTF only become parts of type text/rtf.
    """
    with olefile.OleFileIO(BytesIO(data)) as ole:
        message = _Storage(ole, ())
        root = _message_part(message, _named_properties(message), 0)
    return MailFile(root, ("subject", "from", "to", "cc", "date", "start", "end", "where"))


@dataclass
class _Storage:
    """Properties of a message, recipient or attachment."""

    ole: olefile.OleFileIO
    path: tuple[str, ...]
    header_bytes: int = _HEADER_BYTES["message"]
    code_page: str = "cp1252"
    fixed: Mapping[tuple[int, int], bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.fixed = dict(self._fixed_properties())
        named = self.integer(_MESSAGE_CODE_PAGE) or self.integer(_CODE_PAGE)
        self.code_page = _codec(named) or self.code_page

    def _fixed_properties(self) -> Iterator[tuple[tuple[int, int], bytes]]:
        data = self._stream(_PROPERTIES)
        for at in range(self.header_bytes, len(data) - 15, 16):
            kind, id_ = struct.unpack_from("<HH", data, at)
            yield (id_, kind), data[at + 8 : at + 16]

    def _stream(self, name: str) -> bytes:
        path = [*self.path, name]
        return self.ole.openstream(path).read() if self.ole.get_type(path) == olefile.STGTY_STREAM else b""

    def binary(self, id_: int) -> bytes:
        return self._stream(f"{_STREAM}{id_:04X}{_BINARY:04X}")

    def text(self, id_: int) -> str:
        if wide := self._stream(f"{_STREAM}{id_:04X}{_UNICODE:04X}"):
            return wide.decode("utf-16-le", errors="replace").rstrip("\x00").strip()
        narrow = self._stream(f"{_STREAM}{id_:04X}{_STRING8:04X}").rstrip(b"\x00")
        return narrow.decode(self.code_page, errors="replace").strip()

    def integer(self, id_: int) -> int:
        found = self.fixed.get((id_, _INTEGER))
        return int(struct.unpack_from("<i", found)[0]) if found else 0

    def time(self, id_: int) -> datetime | None:
        """Return a time, which MAPI counts in units of 100 ns since 1601."""
        found = self.fixed.get((id_, _TIME))
        ticks = struct.unpack("<Q", found)[0] if found else 0
        try:
            return _EPOCH + timedelta(microseconds=ticks // 10) if ticks else None
        except OverflowError:
            return None

    def inside(self, name: str, kind: str) -> "_Storage":
        return _Storage(self.ole, (*self.path, name), _HEADER_BYTES[kind], self.code_page)

    def children(self, prefix: str) -> list[str]:
        """Return the names of storages inside that begin so, in order."""
        entries = self.ole.listdir(streams=False, storages=True)
        depth = len(self.path)
        return sorted(
            entry[depth]
            for entry in entries
            if len(entry) == depth + 1 and tuple(entry[:depth]) == self.path and entry[depth].startswith(prefix)
        )

    def holds(self, name: str) -> bool:
        return bool(self.ole.get_type([*self.path, name]) == olefile.STGTY_STORAGE)


def _message_part(message: _Storage, named: Mapping[str, int], depth: int) -> MailPart:
    headers = _headers(message, named)
    bodies = tuple(_bodies(message))
    body = bodies if len(bodies) < 2 else (MailPart("multipart/alternative", children=bodies),)
    names = message.children("__attach_version1.0_#")[:_MAX_ATTACHMENTS] if depth < _MAX_DEPTH else []
    attached = tuple(_attachment(message.inside(name, "part"), named, depth) for name in names)
    children = (*body, *attached)
    return MailPart("multipart/mixed" if children else "text/plain", headers=headers, children=children)


def _bodies(message: _Storage) -> Iterator[MailPart]:
    if plain := _BLANK_LINES.sub("\n\n", message.text(_BODY).replace("\r\n", "\n")):
        yield MailPart("text/plain", plain.encode(errors="replace"), "utf-8")
    if html := message.binary(_HTML):
        code_page = _codec(message.integer(_CODE_PAGE)) or message.code_page
        yield MailPart("text/html", html, code_page)
    elif wide := message.text(_HTML):
        yield MailPart("text/html", wide.encode(errors="replace"), "utf-8")
    elif packed := message.binary(_RTF):
        with suppress(RtfError):
            rtf = decompress_rtf(packed)
            if not plain or _FROM_TEXT not in rtf[:_RTF_HEADER_BYTES]:
                yield MailPart("text/rtf", rtf)


def _attachment(part: _Storage, named: Mapping[str, int], depth: int) -> MailPart:
    filename = part.text(_LONG_FILENAME) or part.text(_FILENAME) or part.text(_NAME)
    filename = filename.replace("/", "_")
    embedded = f"{_STREAM}{_DATA:04X}000D"
    if part.holds(f"{embedded}") and part.inside(embedded, "embedded").fixed:
        message = _message_part(part.inside(embedded, "embedded"), named, depth + 1)
        return MailPart("message/rfc822", headers=message.headers, children=(message,))
    media_type = part.text(_MIME_TYPE).lower() or "application/octet-stream"
    data = None if part.integer(_METHOD) in _BY_REFERENCE else part.binary(_DATA)
    return MailPart(media_type, data, filename=filename or "attachment", is_attachment=True, size=len(data or b""))


def _headers(message: _Storage, named: Mapping[str, int]) -> dict[str, str]:
    """Return the headers of a mail: as it was transported where Outlook kept that, else from its properties."""
    transported = HeaderParser().parsestr(message.text(_HEADERS))
    found = {name.lower(): decode_header_value(str(value)) for name, value in reversed(transported.items())}
    recipients = list(_recipients(message))
    sent = message.time(_SUBMITTED) or message.time(_DELIVERED)
    own = {
        "subject": message.text(_SUBJECT),
        "from": next((sender for sender in _senders(message) if sender), ""),
        "to": ", ".join(who for kind, who in recipients if kind == "to"),
        "cc": ", ".join(who for kind, who in recipients if kind == "cc"),
        "date": sent.strftime("%a, %d %b %Y %H:%M:%S +0000") if sent else "",
    }
    merged = own | {name: value for name, value in found.items() if value}
    if own["subject"]:
        merged["subject"] = own["subject"]  # never in an encoding that the header got wrong
    return merged | _appointment(message, named)


def _senders(message: _Storage) -> Iterator[str]:
    for name, smtp, address in _SENDERS:
        yield _person(message.text(name), message.text(smtp) or message.text(address))


def _recipients(message: _Storage) -> Iterator[tuple[str, str]]:
    for name in message.children("__recip_version1.0_#"):
        recipient = message.inside(name, "part")
        kind = _RECIPIENT_FIELDS.get(recipient.integer(_RECIPIENT_TYPE) & 0xF, "bcc")
        yield kind, _person(recipient.text(_NAME), recipient.text(_SMTP_ADDRESS) or recipient.text(_ADDRESS))


def _person(name: str, address: str) -> str:
    """Write a person; an address of Exchange's directory (/o=…/cn=…) says nothing to anybody."""
    if "@" not in address:
        return name
    return f"{name} <{address}>" if name and name.strip("'") != address else address


def _appointment(message: _Storage, named: Mapping[str, int]) -> dict[str, str]:
    if not message.text(_CLASS).startswith(("IPM.Appointment", "IPM.Schedule")):
        return {}
    found = {}
    for label, id_ in named.items():
        at = message.time(id_)
        if value := f"{at:%Y-%m-%d %H:%M} UTC" if at else message.text(id_):
            found[label.lower()] = value
    return found


def _named_properties(message: _Storage) -> dict[str, int]:
    """Return the ids that this file gives to the properties of appointments."""
    data = message.ole.openstream(list(_NAMED)).read() if message.ole.exists(list(_NAMED)) else b""
    found = {}
    for at in range(0, len(data) - 7, 8):
        number, kind, index = struct.unpack_from("<IHH", data, at)
        if not kind & 1 and number in _APPOINTMENT:
            found[_APPOINTMENT[number]] = 0x8000 + index
    return found


def _codec(code_page: int) -> str | None:
    name = {65001: "utf-8", 20127: "ascii", 28591: "cp1252", 1200: "utf-16-le"}.get(code_page, f"cp{code_page}")
    try:
        return codecs.lookup(name).name if code_page else None
    except LookupError:
        return _ISO_CODE_PAGES.get(code_page)


_ISO_CODE_PAGES: Final = {
    **{28590 + number: f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 9, 13, 15)},
    50220: "iso2022_jp",
    50221: "iso2022_jp",
    51932: "euc_jp",
    51949: "euc_kr",
    52936: "hz",
    54936: "gb18030",
    20866: "koi8-r",
    21866: "koi8-u",
    10000: "mac-roman",
}
