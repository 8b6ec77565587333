"""Hand-written fakes of our own ports: real enough to trust, small enough to read."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from pipeline.columns import chunk_columns, memory_columns
from pipeline.errors import RejectedError
from pipeline.index.segments.document_store import document_columns
from pipeline.ports import DeletedBlobs, Position
from pipeline.rows import (
    ChunkColumns,
    ChunkRow,
    DocumentColumns,
    DocumentRow,
    MemoryColumns,
    MemoryRow,
    NamespaceRow,
    OrganizationRow,
    Terms,
    Vector,
)
from pipeline.stage import Record
from schemas.base import Event
from schemas.events import BlobRef, Content, NamespaceChanged, OrganizationChanged, SettingsChanged
from schemas.ids import incarnation_key
from schemas.limits import MAX_INLINE_BYTES
from schemas.topics import Topic

E = TypeVar("E", bound=Event)
Row = TypeVar("Row", DocumentRow, ChunkRow, MemoryRow)

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
UNUSED_DIR = Path("never-written")
"""The folder of a cache that holds all there is."""


class FakeEntityTable(Generic[Row]):
    """`ports.Table` over a dict. `pending` counts updates not yet made durable."""

    def __init__(self) -> None:
        self.rows_by_key: dict[str, list[Row]] = {}
        self.listeners: list[Callable[[Mapping[str, list[Row]]], None]] = []
        self.pending = 0
        self.updates = 0

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.rows_by_key.values() for row in rows]

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        return {group: list(self.rows_by_key[group]) for group in entity_keys if group in self.rows_by_key}

    async def update(
        self,
        entity_keys: Collection[str],
        change: Callable[[str, list[Row]], Sequence[Row] | None],
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> dict[str, list[Row]]:
        if prepare is not None:
            await prepare()
        changed: dict[str, list[Row]] = {}
        for group in dict.fromkeys(entity_keys):
            after = change(group, list(self.rows_by_key.get(group, [])))
            if after is not None:
                changed[group] = list(after)
        for group, rows in changed.items():
            if rows:
                self.rows_by_key[group] = rows
            else:
                self.rows_by_key.pop(group, None)
        self.pending += bool(changed)
        self.updates += 1
        for listener in self.listeners:
            listener(changed)
        return {group: list(self.rows_by_key.get(group, [])) for group in entity_keys}

    async def update_soon(
        self, entity_keys: Collection[str], change: Callable[[str, list[Row]], Sequence[Row] | None]
    ) -> None:
        await self.update(entity_keys, change)

    async def wait_until_durable(self) -> None:
        self.pending = 0

    def subscribe(
        self,
        listener: Callable[[Mapping[str, list[Row]]], None],
        incarnations: Callable[[str], bool] | None = None,
    ) -> None:
        self.listeners.append(listener)

    def hint_incarnations(self, incarnations: Mapping[str, str]) -> None:
        """Do nothing: a dictionary has no shards."""

    async def refresh(self, incarnations: Collection[str] | None = None) -> None:
        """Do nothing: nobody else changes a dictionary."""

    async def list_rows(self, incarnations: Sequence[str]) -> list[Row]:
        return [row for row in self.rows if row.incarnation in incarnations]


class FakeDocumentTable(FakeEntityTable[DocumentRow]):
    """`ports.Documents`."""

    async def find_by_public_id(self, incarnations: Sequence[str], ids: Collection[str]) -> dict[str, DocumentRow]:
        return {row.id: row for row in self.rows if row.incarnation in incarnations and row.id in ids}

    async def pending_extraction(self) -> list[DocumentRow]:
        return [row for row in self.rows if row.extraction_pending]

    async def columns(self, incarnations: Sequence[str]) -> DocumentColumns:
        return document_columns(await self.list_rows(incarnations))


class FakeChunkTable(FakeEntityTable[ChunkRow]):
    """`ports.Chunks`."""

    async def stream(self, incarnations: Sequence[str]) -> AsyncIterator[ChunkColumns]:
        if rows := await self.list_rows(incarnations):
            yield chunk_columns(rows)


class FakeMemoryTable(FakeEntityTable[MemoryRow]):
    """`ports.Memories`."""

    async def find_by_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        return [row for row in self.rows if set(row.sources) & set(documents)]

    async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        return [row for row in self.rows if row.incarnation in incarnations and set(row.comparison_keys) & set(keys)]

    async def expiring(self) -> list[MemoryRow]:
        return [row for row in self.rows if row.expires_at is not None and row.forgotten_at is None]

    async def stream(self, incarnations: Sequence[str]) -> AsyncIterator[MemoryColumns]:
        if rows := await self.list_rows(incarnations):
            yield memory_columns(rows)


class RecordingPublisher:
    """`ports.Publisher` that keeps what was published, one offset sequence per topic."""

    def __init__(self) -> None:
        self.topics: dict[str, list[tuple[str, Event]]] = {}

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        log = self.topics.setdefault(topic.name, [])
        first = len(log)
        log.extend(entries)
        return [Position(partition=0, offset=first + index) for index in range(len(entries))]

    def events(self, topic: Topic[E]) -> list[E]:
        return [event for _, event in self.topics.get(topic.name, []) if isinstance(event, topic.event_type)]

    def records(self, topic: Topic[E], since: int = 0) -> list[Record[E]]:
        """The topic as a stage would be given it, from offset `since`."""
        return [
            record(topic, key, event, offset)
            for offset, (key, event) in enumerate(self.topics.get(topic.name, []))
            if isinstance(event, topic.event_type) and offset >= since
        ]


def record(topic: Topic[E], key: str, event: E, offset: int) -> Record[E]:
    """An event as the bus would hand it over."""
    return Record(topic=topic.name, partition=0, offset=offset, key=key, event=event, timestamp=EPOCH, headers={})


@dataclass
class FakeCatalog:
    """`ports.Catalog` in a dict; `create` makes a namespace with its first incarnation."""

    namespaces_by_name: dict[str, NamespaceRow] = field(default_factory=dict)
    organization_row: OrganizationRow = field(default_factory=OrganizationRow)

    def create(self, name: str, **fields: Any) -> NamespaceRow:
        row = NamespaceRow(
            name=name,
            epoch=0,
            incarnations=(incarnation_key(name, 0),),
            created_at=EPOCH,
            updated_at=EPOCH,
            **fields,
        )
        self.namespaces_by_name[name] = row
        return row

    def namespace(self, name: str) -> NamespaceRow | None:
        row = self.namespaces_by_name.get(name)
        return row if row is not None and row.incarnations else None

    def namespace_of(self, incarnation: str) -> NamespaceRow | None:
        return next((row for row in self.namespaces_by_name.values() if incarnation in row.incarnations), None)

    def epoch(self, name: str) -> int:
        return self.namespaces_by_name[name].epoch if name in self.namespaces_by_name else 0

    def organization(self) -> OrganizationRow:
        return self.organization_row

    def apply(self, event: SettingsChanged) -> None:
        match event.change:
            case NamespaceChanged() as change:
                self.namespaces_by_name[change.name] = NamespaceRow(
                    **{name: getattr(change, name) for name in NamespaceRow.__dataclass_fields__}
                )
            case OrganizationChanged() as change:
                self.organization_row = OrganizationRow(context=change.context, buckets=change.buckets)


class FakeBlobs:
    """`ports.Blobs` in a dict; `inline` is the size above which a text becomes a claim check."""

    def __init__(self, inline: int = MAX_INLINE_BYTES) -> None:
        self.max_inline_bytes = inline
        self.data: dict[str, bytes] = {}

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        digest = sha256(data).hexdigest()
        self.data[digest] = data
        return BlobRef(sha256=digest, size=len(data), media_type=media_type)

    async def digests_older_than(self, seconds: float) -> set[str]:
        """Nothing grows old here."""
        del seconds
        return set()

    async def count_keys(self, digests: Collection[str]) -> int:
        del digests
        return 0

    async def delete(self, digests: Collection[str]) -> DeletedBlobs:
        for digest in digests:
            self.data.pop(digest, None)
        return DeletedBlobs(digests)

    async def get(self, ref: BlobRef) -> bytes:
        if ref.sha256 not in self.data:
            raise RejectedError(f"Blob {ref.sha256} is missing.")
        return self.data[ref.sha256]

    async def stream(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        """Yield the bytes at once."""
        yield await self.get(ref)

    async def store_text(self, text: str) -> Content:
        data = text.encode()
        if len(data) <= self.max_inline_bytes:
            return Content(text=text)
        return Content(blob=await self.put(data, "text/plain; charset=utf-8"))

    async def load_text(self, content: Content) -> str:
        if content.text is not None:
            return content.text
        if content.blob is None:
            raise RejectedError("A content without text and without blob.")
        return (await self.get(content.blob)).decode()


class FixedClock:
    """`ports.Clock` that stands still until it is moved."""

    def __init__(self, moment: datetime = EPOCH) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class HashingEmbedder:
    """`ports.Embedder`: words hashed into some dimensions; texts that share words are near."""

    name = "hashing"

    def __init__(self, dimensions: int = 64) -> None:
        self.dimensions = dimensions
        self.calls: list[list[str]] = []

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(list(texts))
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        return self._vector(text, term_weight)

    def _vector(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for word in text.lower().split():
            place = int.from_bytes(sha256(word.encode()).digest()[:2]) % self.dimensions
            vector[place] += 1.0 if term_weight is None else term_weight(word)
        length = float(np.linalg.norm(vector))
        return vector / np.float32(length) if length else vector


def hashed_terms(text: str) -> Terms:
    """A stand-in for the real term hashing: one number per lower-case word."""
    words = text.lower().split()
    return np.array([int.from_bytes(sha256(word.encode()).digest()[:4]) for word in words], dtype=np.uint32)
