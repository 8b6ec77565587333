"""Mail folders in mbox format, as Google Takeout, Thunderbird and Apple Mail write them."""

import mailbox
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from app.importers.imported_item import ImportedItem, LeftOut, Read, SourceError, check, stable_id, text_of, to_metadata
from pipeline.errors import ParsingError
from schemas.base import parse_header_time
from schemas.limits import MAX_FILE_BYTES

if TYPE_CHECKING:
    from pipeline.parsing.mail.mail_file import MailFile


def read_mbox(source: Path) -> Read:
    """Yield the mails of a file; attachments are left out. Holds one mail and the places of all others."""
    with source.open("rb") as file:
        if not file.read(5).startswith(b"From "):
            raise SourceError(f"{source} is not an mbox file: its first line does not begin with 'From '.")
    from pipeline.parsing.mail.mail_file import read_mail  # noqa: PLC0415 - parsers that other commands need not wait for

    box = mailbox.mbox(source, create=False)
    try:
        for number, key in enumerate(box.iterkeys(), 1):
            with box.get_file(key) as mail:
                data = mail.read(MAX_FILE_BYTES + 1)
            yield from _mail(number, data, read_mail)
    finally:
        box.close()


def _mail(number: int, data: bytes, read_mail: "Callable[[bytes], MailFile]") -> Read:
    if len(data) > MAX_FILE_BYTES:
        yield LeftOut(f"mail {number:,}", f"it is larger than {MAX_FILE_BYTES // 2**20} MB")
        return
    try:
        mail = read_mail(data)
        text = mail.text
    except ParsingError as error:
        yield LeftOut(f"mail {number:,}", str(error))
        return
    headers = mail.root.headers
    identity = headers.get("message-id", "").strip("<> \t") or sha256(data).hexdigest()[:32]
    for attachment in mail.attachments:
        yield LeftOut(f"{identity}: {attachment.filename or attachment.media_type}", "a file attached to a mail")
    labels = [label.strip() for label in headers.get("x-gmail-labels", "").split(",") if label.strip()]
    about = {"source": "mbox", "title": mail.subject, "from": headers.get("from"), "labels": labels}
    metadata = to_metadata({name: text_of(value) if isinstance(value, str) else value for name, value in about.items()})
    sent_at = parse_header_time(headers.get("date", ""))
    date = None if sent_at is None else sent_at.isoformat()
    yield check(ImportedItem(stable_id("mbox", identity), text_of(text), date, metadata))
