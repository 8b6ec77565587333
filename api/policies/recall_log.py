"""Recall log: which key read what in the namespaces that ask for it; written before the answer is sent.

Entries hold ids, digests and the caller's stated purpose; never a query or a text. They belong to an incarnation, so
they end with its namespace.
"""

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from pipeline.bus.port import Bus
from pipeline.errors import RetryableError
from schemas.events import RecallRecorded
from schemas.topics import RECALLS_RECORDED

PURPOSE_HEADER: Final = "x-recollect-purpose"
MAX_PURPOSE_CHARS: Final = 200
MAX_IDS: Final = 1000
READ_NAMESPACES_SCOPE_KEY: Final = "recollect.read_namespaces"
"""Scope key of the names of the namespaces that a request has read."""
RECORDS_PER_READ: Final = 1000
MAX_READ_RECORDS: Final = 20_000
"""Records, of all namespaces in the partition, that are read for one page; it may then be short, and has a cursor."""
log = logging.getLogger("recollect.recalls")


@dataclass(frozen=True, slots=True)
class RecallLog:
    bus: Bus

    async def record(self, entries: Sequence[RecallRecorded]) -> None:
        """Publish entries; while the bus is unavailable, they are only in the process's log."""
        try:
            await self.bus.publish(RECALLS_RECORDED, [(entry.incarnation, entry) for entry in entries])
        except RetryableError as error:
            for entry in entries:
                log.error("Recall not published (%s): %s", error, entry.model_dump_json())  # noqa: TRY400 - no traceback needed

    async def newest(
        self, incarnations: Collection[str], limit: int, before: Mapping[int, int] | None = None
    ) -> tuple[list[RecallRecorded], Mapping[int, int]]:
        """Return entries of a namespace, newest first, and the offsets before which older ones lie, by partition.

        Only the partitions of the incarnations are read, so many records at most; without offsets, none are older.
        """
        keys = {incarnation.encode() for incarnation in incarnations}
        ends = await self.bus.end_offsets(RECALLS_RECORDED.name)
        partitions = {self.bus.partition_of(incarnation, len(ends)) for incarnation in incarnations}
        left = {partition: min(ends[partition], (before or ends).get(partition, 0)) for partition in partitions}
        found: list[_Found] = []
        for partition, end in left.items():
            entries, left[partition] = await self._newest_of(partition, end, keys, limit)
            found += entries
        found.sort(key=lambda entry: (entry.event.at, entry.offset), reverse=True)
        for entry in found[limit:]:
            left[entry.partition] = max(left[entry.partition], entry.offset + 1)
        return [entry.event for entry in found[:limit]], {place: end for place, end in left.items() if end > 0}

    async def _newest_of(
        self, partition: int, end: int, keys: Collection[bytes], limit: int
    ) -> tuple[list["_Found"], int]:
        """Return the newest entries of a partition below `end`, and the offset from which it was read."""
        found: list[_Found] = []
        stop = max(0, end - MAX_READ_RECORDS)
        while end > stop and len(found) < limit:
            start = max(stop, end - RECORDS_PER_READ)
            read = self.bus.read(RECALLS_RECORDED.name, partition, start, end)
            found[:0] = [
                _Found(partition, record.offset, RecallRecorded.model_validate_json(value))
                async for record in read
                if record.key in keys and (value := record.content_if_readable)
            ]
            end = start
        return found, end


@dataclass(frozen=True, slots=True)
class _Found:
    partition: int
    offset: int
    event: RecallRecorded


def encode_place(left: Mapping[int, int]) -> str | None:
    """Write offsets by partition as a cursor; None if nothing is left.

    >>> encode_place({2: 17, 0: 4}), encode_place({})
    ('0.4-2.17', None)
    """
    return "-".join(f"{partition}.{end}" for partition, end in sorted(left.items())) or None


def decode_place(cursor: str) -> Mapping[int, int]:
    """Read a cursor; ValueError if it is none.

    >>> decode_place("0.4-2.17")
    {0: 4, 2: 17}
    """
    return {int(partition): int(end) for partition, end in (part.split(".") for part in cursor.split("-"))}


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
