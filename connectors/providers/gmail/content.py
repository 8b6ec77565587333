"""Conversion of a mail thread to Markdown: each message once, without quotations of earlier ones."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import getaddresses, parseaddr
from typing import Any

from pipeline.parsing.mail.mail_quotations import KnownText, strip_quotations
from pipeline.parsing.mail.mail_text import MailPart, attached_parts, decode_header_value, mail_text, text_parts
from schemas.base import parse_header_time

_EXCLUDED_LABELS = frozenset({"TRASH", "SPAM", "DRAFT", "CHAT"})
_CHARSET = re.compile(r"charset\s*=\s*\"?'?([\w.:-]+)", re.IGNORECASE)
_MAX_DEPTH = 50
"""Nesting limit of parts; deeper mails are attacks on the parser."""


@dataclass(frozen=True, slots=True)
class MailMessage:
    """Message with its parts; `sent_at` is None if neither Gmail nor the mail gives a valid time."""

    id: str
    labels: frozenset[str]
    sent_at: datetime | None
    subject: str
    sender: str
    to: str
    cc: str
    root: MailPart

    @property
    def is_regular(self) -> bool:
        """Return whether the message was sent or received, and is neither trash nor spam."""
        return not self.labels & _EXCLUDED_LABELS

    @property
    def attachments(self) -> tuple[MailPart, ...]:
        """Files of the message; the handle of one is valid for this fetch only, its id is stable."""
        return tuple(attached_parts(self.root))


def parse_message(message: Mapping[str, Any]) -> MailMessage:
    """Parse the resource `Message`; fields that are missing or null count as empty."""
    root = _parse_part(message.get("payload") or {})
    return MailMessage(
        id=message["id"],
        labels=frozenset(message.get("labelIds") or ()),
        sent_at=_sent_at(message.get("internalDate"), root.headers.get("date", "")),
        subject=root.headers.get("subject", "").strip(),
        sender=root.headers.get("from", ""),
        to=root.headers.get("to", ""),
        cc=root.headers.get("cc", ""),
        root=root,
    )


def unfetched_texts(mail: MailMessage) -> list[MailPart]:
    """Return the parts of the text that have to be fetched by their handle, because they are long."""
    return [part for part in text_parts(mail.root) if part.handle and not part.data]


def with_texts(mail: MailMessage, data_by_handle: Mapping[str, bytes | None]) -> MailMessage:
    """Add texts that were fetched; None: one that can't be decoded."""
    return replace(mail, root=_with_data(mail.root, data_by_handle))


def thread_markdown(mails: Sequence[MailMessage], unread_reasons: Mapping[str, str]) -> str:
    """Render a thread; `unread_reasons` explains per attachment name why it was not read."""
    lines = [f"# {thread_subject(mails)}"]
    known = KnownText()
    for mail in mails:
        sent_at = f", {mail.sent_at:%Y-%m-%d %H:%M} UTC" if mail.sent_at else ""
        lines.append(f"## {mail.sender or 'Unknown'}{sent_at}")
        addressed = [f"{word}: {who}" for word, who in (("To", mail.to), ("Cc", mail.cc)) if who]
        lines += ["  \n".join(addressed)] if addressed else []
        text = mail_text(mail.root)
        damaged = [part.media_type for part in text_parts(mail.root) if part.is_damaged]
        notes = [f"(A part of this message was left out: its {media_type} is damaged.)" for media_type in damaged]
        own = strip_quotations(text, known)
        lines += [own, *notes] if own else notes or ["(no text)"]
        known.add(text)
        names = [each.name + unread_reasons.get(each.name, "") for each in mail.attachments]
        lines += [f"Attachments: {', '.join(names)}"] if names else []
    return "\n\n".join(lines)


def thread_subject(mails: Sequence[MailMessage]) -> str:
    return next((mail.subject for mail in mails if mail.subject), "(no subject)")


def participants(mails: Sequence[MailMessage]) -> list[str]:
    address_fields = [field for mail in mails for field in (mail.sender, mail.to, mail.cc) if field]
    return list(dict.fromkeys(address.lower() for _, address in getaddresses(address_fields) if address))


def sender_name(sender: str) -> str:
    """Return a sender's name, or the address if it has none."""
    name, address = parseaddr(sender)
    return name or address or sender


def decode_base64url(data: str) -> bytes | None:
    """Decode Gmail's URL-safe base64, with or without padding; None if it is damaged."""
    text = data.strip().rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _parse_part(part: Mapping[str, Any], depth: int = 0) -> MailPart:
    headers = dict(reversed(list(_headers_of(part))))
    body = part.get("body") or {}
    encoded = body.get("data")
    data = decode_base64url(encoded) if encoded else None
    children = part.get("parts") or () if depth < _MAX_DEPTH else ()
    charset = _CHARSET.search(headers.get("content-type", ""))
    return MailPart(
        media_type=(part.get("mimeType") or "text/plain").lower(),
        data=data,
        charset=charset[1] if charset else None,
        filename=decode_header_value(part.get("filename") or ""),
        is_attachment=headers.get("content-disposition", "").lower().startswith("attachment"),
        headers=headers,
        children=tuple(_parse_part(each, depth + 1) for each in children),
        id=part.get("partId") or "",
        handle=body.get("attachmentId") or "",
        size=int(body.get("size") or 0),
        is_damaged=bool(encoded) and data is None,
    )


def _headers_of(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in part.get("headers") or ():
        yield str(each.get("name") or "").lower(), decode_header_value(str(each.get("value") or ""))


def _with_data(part: MailPart, data_by_handle: Mapping[str, bytes | None]) -> MailPart:
    children = tuple(_with_data(each, data_by_handle) for each in part.children)
    if part.handle not in data_by_handle:
        return replace(part, children=children)
    data = data_by_handle[part.handle]
    return replace(part, children=children, data=data, is_damaged=data is None)


def _sent_at(internal_date: object, date_header: str) -> datetime | None:
    """Return Gmail's time of a message, else that of its header."""
    try:
        return datetime.fromtimestamp(int(str(internal_date)) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        found = parse_header_time(date_header)
        return found and found.astimezone(UTC)
