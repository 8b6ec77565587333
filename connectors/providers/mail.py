"""A thread of mails as one Markdown text: each message once, without what it repeats of those before."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import getaddresses, parseaddr
from typing import Any

from connectors.providers.html import to_markdown, without_layout

_NOT_MAIL = frozenset({"TRASH", "SPAM", "DRAFT", "CHAT"})
# Where mail programs put the message that is answered.
_QUOTES = (
    "blockquote[type=cite]",
    "blockquote.gmail_quote",
    ".gmail_attr",
    ".gmail_quote_container",
    ".yahoo_quoted",
    ".moz-cite-prefix",
    "#divRplyFwdMsg",
    "#appendonsend ~ *",
    ".protonmail_quote",
    ".tutanota_quote",
    "#mail-editor-reference-message-container",
)
_FORWARDED = re.compile(
    r"-{5,}\s*(?:Forwarded message|Weitergeleitete Nachricht|Message transféré)|^Begin forwarded message:",
    re.IGNORECASE | re.MULTILINE,
)
# Each is matched against one line: what anybody may send is read in one pass.
_OPENING = re.compile(r"(?:On|Am|Le|El|Il|Op|Em|Den)\b")
_WROTE = re.compile(
    r"\b(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev)\b[^:]{0,200}:$", re.IGNORECASE
)
_ORIGINAL = re.compile(
    r"-{3,40}\s?(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original)\s?-{3,40}$",
    re.IGNORECASE,
)
_RULE = re.compile(r"_{10,200}$")
_LINE = 400


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message. `handle` is good for this fetch only; `part` stays."""

    part: str
    handle: str
    filename: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class Mail:
    """A message. `plain` and `marked_up` are what it says, in the two ways that it may say it."""

    id: str
    labels: frozenset[str]
    sent: datetime
    subject: str
    sender: str
    to: str
    cc: str
    plain: str
    marked_up: str
    attachments: tuple[Attachment, ...]

    @property
    def counts(self) -> bool:
        """Whether it is mail that was sent or received, and is neither in the bin nor spam."""
        return not self.labels & _NOT_MAIL

    def body(self, *, answer: bool) -> str:
        """What it says; an answer without what it repeats, unless it is somebody else's words passed on."""
        forwarded = _FORWARDED.search(self.plain or self.marked_up) is not None
        strip = answer and not forwarded
        if self.plain.strip():
            return _unquoted(self.plain) if strip else self.plain.strip()
        return to_markdown(without_layout(self.marked_up), without=_QUOTES if strip else ())


@dataclass(slots=True)
class Parts:
    """What the tree of parts holds. `elsewhere`: texts so long that they have to be fetched, by handle."""

    plain: list[str] = field(default_factory=list)
    marked_up: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    elsewhere: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


def parts_of(payload: Mapping[str, Any]) -> Parts:
    """Walk the parts of a message."""
    found = Parts()
    for part in _walked(payload):
        body = part.get("body", {})
        media, name, handle = part.get("mimeType", ""), part.get("filename", ""), body.get("attachmentId")
        if name and handle:
            size = int(body.get("size", 0))
            found.attachments.append(Attachment(part.get("partId", ""), handle, header(name), media, size))
        elif media in {"text/plain", "text/html"} and not name:
            if handle:
                found.elsewhere.append((handle, part))
            else:
                add_text(found, part, body.get("data", ""))
    return found


def add_text(found: Parts, part: Mapping[str, Any], data: str) -> None:
    """The text of a part, from its base64."""
    text = _decoded(data, _charset(part))
    (found.plain if part["mimeType"] == "text/plain" else found.marked_up).append(text)


def mail_of(message: Mapping[str, Any], found: Parts) -> Mail:
    """From the resource `Message` and its parts."""
    headers = {each["name"].lower(): header(each["value"]) for each in message["payload"].get("headers", ())}
    return Mail(
        id=message["id"],
        labels=frozenset(message.get("labelIds", ())),
        sent=datetime.fromtimestamp(int(message.get("internalDate", 0)) / 1000, UTC),
        subject=headers.get("subject", "").strip(),
        sender=headers.get("from", ""),
        to=headers.get("to", ""),
        cc=headers.get("cc", ""),
        plain="\n".join(found.plain).replace("\r\n", "\n"),
        marked_up="\n".join(found.marked_up),
        attachments=tuple(found.attachments),
    )


def thread_text(mails: Sequence[Mail], unread: Mapping[str, str]) -> str:
    """The whole thread. `unread`: why an attachment is not read, by its name."""
    told = [f"# {subject_of(mails)}"]
    for number, mail in enumerate(mails):
        told.append(f"## {mail.sender or 'Unknown'}, {mail.sent:%Y-%m-%d %H:%M} UTC")
        addressed = [f"{word}: {who}" for word, who in (("To", mail.to), ("Cc", mail.cc)) if who]
        told += ["  \n".join(addressed)] if addressed else []
        told += [mail.body(answer=number > 0) or "(no text)"]
        names = [each.filename + unread.get(each.filename, "") for each in mail.attachments]
        told += [f"Attachments: {', '.join(names)}"] if names else []
    return "\n\n".join(told)


def subject_of(mails: Sequence[Mail]) -> str:
    """What the thread is about."""
    return next((mail.subject for mail in mails if mail.subject), "(no subject)")


def people(mails: Sequence[Mail]) -> list[str]:
    """The addresses of everybody in it."""
    said = [field for mail in mails for field in (mail.sender, mail.to, mail.cc) if field]
    return list(dict.fromkeys(address.lower() for _, address in getaddresses(said) if address))


def person(sender: str) -> str:
    """A sender's name, or the address of one without a name."""
    name, address = parseaddr(sender)
    return name or address or sender


def header(value: str) -> str:
    """A header as it is meant to be read (RFC 2047)."""
    if "=?" not in value:
        return value
    try:
        return str(make_header(decode_header(value)))
    except (HeaderParseError, UnicodeDecodeError, LookupError):
        return value


def _walked(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [part]
    while waiting:
        part = waiting.pop(0)
        yield part
        # A forwarded mail is an attachment of its own: its parts are not this message's words.
        if part.get("mimeType") != "message/rfc822" or not part.get("filename"):
            waiting = [*part.get("parts", ()), *waiting]


def _charset(part: Mapping[str, Any]) -> str:
    for each in part.get("headers", ()):
        if each["name"].lower() == "content-type":
            found = re.search(r'charset="?([\w.:-]+)', each["value"], re.IGNORECASE)
            return found[1] if found else "utf-8"
    return "utf-8"


def decoded(data: str) -> bytes:
    """Gmail's base64: for URLs, and without its padding."""
    try:
        return base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))
    except (binascii.Error, ValueError):
        return b""


def _decoded(data: str, charset: str) -> str:
    """The charset is what the message says of itself; Gmail has often made it UTF-8 already."""
    raw = decoded(data)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        pass
    try:
        return raw.decode(charset, errors="replace")
    except LookupError:
        return raw.decode("latin-1")


def _unquoted(text: str) -> str:
    """A plain answer without what it answers, and without the line that announces that."""
    lines = text.split("\n")
    heads = [line.strip()[-_LINE:] for line in lines]
    last = max((number for number, head in enumerate(heads) if head.startswith(">")), default=-1)
    kept: list[str] = []
    for number, line in enumerate(lines):
        if _begins_original(heads[number : number + 3]):
            break
        if (opening := _opening_of(heads, number)) is not None:
            kept = kept[: len(kept) - (number - opening)]
            # Somebody may answer between the lines; where nothing is marked as quoted, all that follows is.
            if number > last:
                break
        elif not line.startswith(">"):
            kept.append(line)
    return "\n".join(kept).strip()


def _begins_original(heads: Sequence[str]) -> bool:
    """Whether the message that is answered begins here, as Outlook writes it."""
    first, second, third = [*heads, "", "", ""][:3]
    header = first.startswith("From: ") and second.startswith(("Sent:", "Date:")) and third.startswith("To:")
    return bool(header or _ORIGINAL.match(first) or (_RULE.match(first) and second.startswith("From: ")))


def _opening_of(heads: Sequence[str], number: int) -> int | None:
    """The line where an announcement begins that ends on this one; it may take two."""
    if not _WROTE.search(heads[number]):
        return None
    if _OPENING.match(heads[number]):
        return number
    return number - 1 if number and _OPENING.match(heads[number - 1]) else None
