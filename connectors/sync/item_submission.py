"""Conversion of a source item to a document event: its id, its content, and detection of changes."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final

from connectors.errors import ResourceFetchError
from connectors.sync_messages import SourceItem
from pipeline.ports import Blobs
from pipeline.store.tables.connector_state_table import ConnectorStateTable, StateKind
from schemas.base import Metadata, format_timestamp, replace_unstorable
from schemas.events import ConnectorChanged, Content, DocumentSubmitted, Upload
from schemas.ids import document_key
from schemas.limits import MAX_DOCUMENT_ID_LENGTH, MAX_FILE_BYTES, MAX_TEXT_CHARS

_PAGE_SIZE = 1000
_NOT_ALLOWED_IN_ID = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_KINDS: Final[tuple[StateKind, ...]] = ("item", "failed")


def document_id_prefix(row: ConnectorChanged) -> str:
    """Return the prefix that the ids of a connector's documents, and no others, begin with."""
    return f"{row.provider}:{row.id}:"


def document_id(row: ConnectorChanged, item_id: str) -> str:
    """Return `<provider>:<connector>:<item>`; an item id that is not a valid document id is hashed."""
    prefix = document_id_prefix(row)
    if len(prefix) + len(item_id) <= MAX_DOCUMENT_ID_LENGTH and not _NOT_ALLOWED_IN_ID.search(item_id):
        return prefix + item_id
    return prefix + blake2b(item_id.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def paginate(document_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split document ids into pages for lookups and publishing."""
    for start in range(0, len(document_ids), _PAGE_SIZE):
        yield document_ids[start : start + _PAGE_SIZE]


@dataclass(frozen=True, slots=True)
class ContentFingerprint:
    """Short hashes of the content sent last and of the names of its metadata."""

    content: str
    metadata_schema: str

    @classmethod
    def of_item(cls, item: SourceItem) -> "ContentFingerprint":
        content = blake2b(digest_size=16)
        for part in (item.title or "", item.text or "", item.file.filename if item.file else ""):
            content.update(part.encode(errors="surrogatepass") + b"\x1f")
        if item.file is not None:
            content.update(item.file.data)
        names = "\x1f".join(sorted(item.metadata)) + f"\x1f{item.date is None}"
        return cls(content.hexdigest(), blake2b(names.encode(), digest_size=4).hexdigest())

    @classmethod
    def parse(cls, text: str) -> "ContentFingerprint":
        """Parse a fingerprint stored in the connector's state."""
        content, _, fields = text.partition("/")
        return cls(content, fields)

    def __str__(self) -> str:
        return f"{self.content}/{self.metadata_schema}"


async def build_submission(
    row: ConnectorChanged,
    item: SourceItem,
    previous: ContentFingerprint | None,
    fingerprint: ContentFingerprint,
    *,
    blobs: Blobs,
    submitted_at: datetime,
) -> DocumentSubmitted:
    """Build the event that submits an item; ResourceFetchError if it can't become a document.

    If only metadata values changed, the event is a patch, and the text is not processed again.
    """
    public = document_id(row, item.id)
    only_metadata = previous == fingerprint
    content, upload = (None, None) if only_metadata else await _store_content(item, blobs)
    return DocumentSubmitted(
        operation="patch" if only_metadata else "replace",
        incarnation=row.incarnation,
        document=document_key(row.incarnation, public),
        id=public,
        at=submitted_at,
        content=content,
        upload=upload,
        metadata=_document_metadata(row, item),
        date=format_timestamp(item.date) if item.date else None,
        title=replace_unstorable(item.title) if item.title else None,
        url=item.url or "",
    )


def build_deletion(row: ConnectorChanged, public_id: str, submitted_at: datetime) -> DocumentSubmitted:
    return DocumentSubmitted(
        operation="delete",
        incarnation=row.incarnation,
        document=document_key(row.incarnation, public_id),
        id=public_id,
        at=submitted_at,
    )


async def _store_content(item: SourceItem, blobs: Blobs) -> tuple[Content | None, Upload | None]:
    if item.file is not None:
        file = item.file
        if len(file.data) > MAX_FILE_BYTES:
            raise ResourceFetchError(f"The file has {len(file.data):,} bytes; a file may have {MAX_FILE_BYTES:,}.")
        if not file.data:
            raise ResourceFetchError("The file is empty.")
        ref = await blobs.put(file.data, file.media_type or "application/octet-stream")
        return None, Upload(blob=ref, filename=replace_unstorable(file.filename), mime_type=file.media_type)
    text = replace_unstorable(item.text or "").strip() or replace_unstorable(item.title or "").strip()
    if not text:
        raise ResourceFetchError("The item has no text.")
    if len(text) > MAX_TEXT_CHARS:
        raise ResourceFetchError(f"The text has {len(text):,} characters; a document may have {MAX_TEXT_CHARS:,}.")
    return await blobs.store_text(text), None


def _document_metadata(row: ConnectorChanged, item: SourceItem) -> Metadata:
    metadata = {name: _clean_value(value) for name, value in item.metadata.items()}
    return {**metadata, "provider": row.provider, "connector": row.id}


def _clean_value(value: str | float | bool | list[str]) -> str | float | bool | list[str]:
    if isinstance(value, str):
        return replace_unstorable(value)
    return [replace_unstorable(text) for text in value] if isinstance(value, list) else value


async def find_orphaned_documents(
    row: ConnectorChanged, document_ids: Sequence[str], state: ConnectorStateTable, unlistable_prefixes: tuple[str, ...]
) -> AsyncIterator[str]:
    """Yield documents that belong to no item, to be called right after a complete listing.

    Items with one of `unlistable_prefixes` could not be listed, so their documents are kept.
    """
    prefix = document_id_prefix(row)
    unmatched: list[str] = []
    for page in paginate(document_ids):
        items = {public.removeprefix(prefix): public for public in page}
        for kind in _KINDS:
            for found in await state.get(kind, items):
                del items[found]
        unmatched += [
            public
            for item, public in items.items()
            if not (unlistable_prefixes and item.startswith(unlistable_prefixes))
        ]
    hashed = await _hashed_document_ids(row, state) if unmatched else set()
    for public in unmatched:
        # A hashed id does not tell whether its item could be listed.
        if public not in hashed and not (unlistable_prefixes and _is_hash(public.removeprefix(prefix))):
            yield public


async def _hashed_document_ids(row: ConnectorChanged, state: ConnectorStateTable) -> set[str]:
    """Return the ids of documents whose item id was replaced by a hash."""
    prefix, found = document_id_prefix(row), set[str]()
    for kind in _KINDS:
        async for rows in state.iterate_pages(kind):
            pairs = ((item.id, document_id(row, item.id)) for item in rows)
            found |= {public for item, public in pairs if public != prefix + item}
    return found


def _is_hash(name: str) -> bool:
    return len(name) == 32 and set(name) <= set("0123456789abcdef")
