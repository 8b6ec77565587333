"""An item of a source as a document: its id, what the log is told of it, and how a change is noticed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from connectors.errors import NotFetchedError
from connectors.ports import Item
from pipeline.ports import Blobs
from schemas.base import Metadata, timestamp
from schemas.events import ConnectorChanged, Content, DocumentSubmitted, Upload
from schemas.ids import document_key
from schemas.limits import DOCUMENT_ID_LENGTH, FILE_BYTES, TEXT_CHARACTERS

_PAGE = 1000
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def document_prefix(row: ConnectorChanged) -> str:
    """What the ids of a connector's documents begin with, and no others."""
    return f"{row.provider}:{row.id}:"


def document_id(row: ConnectorChanged, item: str) -> str:
    """`<provider>:<connector>:<item>`; an item's id that does not fit is replaced by its hash."""
    prefix = document_prefix(row)
    if len(prefix) + len(item) <= DOCUMENT_ID_LENGTH and not _UNPRINTABLE.search(item):
        return prefix + item
    return prefix + blake2b(item.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def pages(documents: Sequence[str]) -> Iterator[Sequence[str]]:
    """Ids of documents, as many at a time as are looked up or sent in one go."""
    for start in range(0, len(documents), _PAGE):
        yield documents[start : start + _PAGE]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What was sent last: the content, and which metadata there are. Both as short hashes."""

    content: str
    fields: str

    @classmethod
    def of(cls, item: Item) -> "Fingerprint":
        """That of an item."""
        content = blake2b(digest_size=16)
        for part in (item.title or "", item.text or "", item.file.filename if item.file else ""):
            content.update(part.encode(errors="surrogatepass") + b"\x1f")
        if item.file is not None:
            content.update(item.file.data)
        names = "\x1f".join(sorted(item.metadata)) + f"\x1f{item.date is None}"
        return cls(content.hexdigest(), blake2b(names.encode(), digest_size=4).hexdigest())

    @classmethod
    def read(cls, text: str) -> "Fingerprint":
        """That of a row in the state."""
        content, _, fields = text.partition("/")
        return cls(content, fields)

    def __str__(self) -> str:
        return f"{self.content}/{self.fields}"


async def submission(
    row: ConnectorChanged,
    item: Item,
    known: Fingerprint | None,
    fingerprint: Fingerprint,
    *,
    blobs: Blobs,
    at: datetime,
) -> DocumentSubmitted:
    """What the log is told of an item. NotFetchedError, for people, where it can't be a document.

    Where only values of metadata changed, only they are sent: the text is not worked on again.
    """
    public = document_id(row, item.id)
    only_metadata = known == fingerprint
    content, upload = (None, None) if only_metadata else await _content(item, blobs)
    return DocumentSubmitted(
        operation="patch" if only_metadata else "replace",
        space=row.space,
        document=document_key(row.space, public),
        id=public,
        at=at,
        content=content,
        upload=upload,
        metadata=_metadata(row, item),
        date=timestamp(item.date) if item.date else None,
        title=_clean(item.title) if item.title else None,
        url=item.url or "",
    )


def deletion(row: ConnectorChanged, public: str, at: datetime) -> DocumentSubmitted:
    """What the log is told of a document whose item is gone."""
    return DocumentSubmitted(
        operation="delete",
        space=row.space,
        document=document_key(row.space, public),
        id=public,
        at=at,
    )


async def _content(item: Item, blobs: Blobs) -> tuple[Content | None, Upload | None]:
    if item.file is not None:
        file = item.file
        if len(file.data) > FILE_BYTES:
            raise NotFetchedError(f"The file has {len(file.data):,} bytes; a file may have {FILE_BYTES:,}.")
        if not file.data:
            raise NotFetchedError("The file is empty.")
        ref = await blobs.put(file.data, file.media_type or "application/octet-stream")
        return None, Upload(blob=ref, filename=_clean(file.filename), mime_type=file.media_type)
    text = _clean(item.text or "").strip() or _clean(item.title or "").strip()
    if not text:
        raise NotFetchedError("There is no text in it.")
    if len(text) > TEXT_CHARACTERS:
        raise NotFetchedError(
            f"The text has {len(text):,} characters; a document may have {TEXT_CHARACTERS:,}."
        )
    return await blobs.pack(text), None


def _metadata(row: ConnectorChanged, item: Item) -> Metadata:
    given = {name: _value(value) for name, value in item.metadata.items()}
    return {**given, "provider": row.provider, "connector": row.id}


def _value(value: str | float | bool | list[str]) -> str | float | bool | list[str]:
    if isinstance(value, str):
        return _clean(value)
    return [_clean(one) for one in value] if isinstance(value, list) else value


def _clean(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)
