"""Deterministic ids: the same input gives the same row, so repeated delivery changes nothing.

An *incarnation* is one life of a namespace, written `name#epoch`. Rows belong to an incarnation, not to a
name: deleting a namespace drops its incarnations, moving it assigns them to another name, and late events of
an older incarnation find no owner and are dropped. `#` cannot occur in a namespace name.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b

from schemas.base import MetadataValue


def _digest(*parts: str) -> str:
    return blake2b("\x1f".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def incarnation_key(namespace: str, epoch: int) -> str:
    """Return the incarnation of a namespace's epoch: `alice`, 0 -> `alice#0`."""
    return f"{namespace}#{epoch}"


def first_namespace(incarnation: str) -> str:
    """Return the namespace that an incarnation began with: `alice#0` -> `alice`, wherever it was moved since."""
    return incarnation.rpartition("#")[0]


def document_key(incarnation: str, document_id: str) -> str:
    """Return the row key of a document, 32 hex digits; it survives a move of its incarnation."""
    return _digest("document", incarnation, document_id)


def content_id(namespace: str, content: str, metadata: Mapping[str, MetadataValue] | None, date: str | None) -> str:
    """Return the public id of a document sent without one; a retry of the same POST gets the same id."""
    return _digest("content", namespace, content, json.dumps(metadata or {}, sort_keys=True), date or "")


def chunk_id(document: str, position: int, text: str) -> str:
    """Return the id of a chunk; the same text at the same position keeps its id."""
    return _digest("chunk", document, str(position), text)


def memory_id(incarnation: str, text: str) -> str:
    """Return the id of a memory; the same fact in an incarnation is the same memory with another source."""
    return _digest("memory", incarnation, " ".join(text.casefold().split()))


def namespace_id(namespace: str, epoch: int) -> str:
    """Return the internal id that namespace lists show beside the name."""
    return "ns_" + _digest("namespace", incarnation_key(namespace, epoch))[:20]


def partition(key: bytes, partitions: int) -> int:
    """Return a record's partition, by its key up to the first `/`, which is the incarnation.

    Logs depend on this function: its results must never change.
    """
    incarnation, _, _ = key.partition(b"/")
    return int.from_bytes(blake2b(incarnation, digest_size=8).digest(), "big") % partitions
