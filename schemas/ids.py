"""Deterministic ids: the same input gives the same row, so delivery at least once changes nothing.

A *space* is one life of a namespace, written `name#generation`. Rows belong to a space, never to a name:
deleting a namespace drops its spaces, moving it hands them to another name, and late events of an older
life find no owner and are dropped. `#` cannot occur in a namespace name.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b

from schemas.base import MetadataValue


def _digest(*parts: str) -> str:
    return blake2b("\x1f".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def space(namespace: str, generation: int) -> str:
    """The space of a namespace's generation: `alice`, 0 -> `alice#0`."""
    return f"{namespace}#{generation}"


def document_key(space: str, document_id: str) -> str:
    """The row key of a document, 32 hex digits; stable when its space is handed to another namespace."""
    return _digest("document", space, document_id)


def content_id(
    namespace: str, content: str, metadata: Mapping[str, MetadataValue] | None, date: str | None
) -> str:
    """The public id of a document that came without one: a blind retry of the same POST meets itself."""
    return _digest("content", namespace, content, json.dumps(metadata or {}, sort_keys=True), date or "")


def chunk_id(document: str, position: int, text: str) -> str:
    """The id of a chunk of a document key; the same text at the same place keeps its id."""
    return _digest("chunk", document, str(position), text)


def memory_id(space: str, text: str) -> str:
    """The id of a memory: the same fact in the same space is the same memory, with one source more."""
    return _digest("memory", space, " ".join(text.casefold().split()))


def namespace_id(namespace: str, generation: int) -> str:
    """The internal id that namespace lists show beside the name."""
    return "ns_" + _digest("namespace", space(namespace, generation))[:20]


def partition(key: bytes, partitions: int) -> int:
    """The partition of a record by its key up to the first `/`: what belongs to a space stays together.

    The same in every topic with so many partitions, in every process, for ever: it is written into logs.
    """
    space, _, _ = key.partition(b"/")
    return int.from_bytes(blake2b(space, digest_size=8).digest(), "big") % partitions
