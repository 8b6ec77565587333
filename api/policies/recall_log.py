"""Recall log: which key read what in the namespaces that ask for it; written before the answer is sent.

Entries hold ids, digests and the caller's stated purpose; never a query or a text. They belong to an incarnation, so
they end with its namespace.
"""

import json
import logging
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from pipeline.bus.port import Bus
from pipeline.bus.records import RawRecord
from pipeline.errors import RetryableError
from schemas.events import RecallRecorded
from schemas.topics import RECALLS_RECORDED

PURPOSE_HEADER: Final = "x-recollect-purpose"
MAX_PURPOSE_CHARS: Final = 200
MAX_IDS: Final = 1000
READ_NAMESPACES_SCOPE_KEY: Final = "recollect.read_namespaces"
"""Scope key of the names of the namespaces that a request has read."""
RECORDS_PER_READ: Final = 1000
log = logging.getLogger("recollect.recalls")


@dataclass(frozen=True, slots=True)
class RecallLog:
    """Entries of all namespaces."""

    bus: Bus

    async def record(self, entries: Sequence[RecallRecorded]) -> None:
        """Publish entries; while the bus is unavailable, they are only in the process's log."""
        try:
            await self.bus.publish(RECALLS_RECORDED, [(entry.incarnation, entry) for entry in entries])
        except RetryableError as error:
            for entry in entries:
                log.error("Recall not published (%s): %s", error, entry.model_dump_json())  # noqa: TRY400 - no traceback needed

    async def newest(
        self, incarnations: Collection[str], limit: int, before: datetime | None = None
    ) -> list[RecallRecorded]:
        """Return the entries of a namespace, newest first; `before`: only earlier ones."""
        keys = {incarnation.encode() for incarnation in incarnations}
        found: list[RecallRecorded] = []
        for partition, end in (await self.bus.end_offsets(RECALLS_RECORDED.name)).items():
            found += await self._newest_of(partition, end, keys, limit, before)
        return sorted(found, key=lambda entry: entry.at, reverse=True)[:limit]

    async def _newest_of(
        self, partition: int, end: int, keys: Collection[bytes], limit: int, before: datetime | None
    ) -> list[RecallRecorded]:
        found: list[RecallRecorded] = []
        while end > 0 and len(found) < limit:
            start = max(0, end - RECORDS_PER_READ)
            read = self.bus.read(RECALLS_RECORDED.name, partition, start, end)
            found[:0] = [entry async for entry in _entries(read, keys) if before is None or entry.at < before]
            end = start
        return found[-limit:]


async def _entries(records: AsyncIterator[RawRecord], keys: Collection[bytes]) -> AsyncIterator[RecallRecorded]:
    async for record in records:
        if record.key in keys:
            yield RecallRecorded.model_validate_json(record.value)


def purpose_of(headers: Mapping[str, str]) -> str | None:
    """Return the purpose that a caller states, cut to a bound and to one line."""
    stated = "".join(char for char in headers.get(PURPOSE_HEADER, "") if char.isprintable())
    return stated[:MAX_PURPOSE_CHARS] or None


def query_digest(incarnation: str, body: bytes) -> str | None:
    """Return the SHA-256 of namespace and query, in hex; None if the body asks nothing.

    It proves that somebody asked what is known otherwise. A query that can be guessed is no secret behind it.
    """
    asked = _parsed(body)
    query = (asked.get("query") or asked.get("q")) if isinstance(asked, dict) else None
    return sha256(f"{incarnation}\n{query}".encode(errors="surrogatepass")).hexdigest() if query else None


def ids_shown(body: bytes) -> tuple[str, ...]:
    """Return the ids in a JSON answer, in order, each once; none of an answer in another format.

    >>> ids_shown(b'{"results": [{"id": "a", "documents": [{"id": "b"}]}, {"id": "a"}]}')
    ('a', 'b')
    """
    return tuple(dict.fromkeys(_ids(_parsed(body))))[:MAX_IDS]


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("id"), str):
            yield value["id"]
        for item in value.values():
            yield from _ids(item)
    elif isinstance(value, list):
        for item in value:
            yield from _ids(item)
