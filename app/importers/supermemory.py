"""Supermemory's documents and memories, as its v3 and v4 interfaces list them."""

from pathlib import Path
from typing import Any

from app.importers.imported_item import (
    ImportedItem,
    LeftOut,
    Read,
    check,
    list_of,
    object_of,
    stable_id,
    text_of,
    to_date,
    to_metadata,
)
from app.importers.json_records import ROOT, records
from app.importers.source_files import JSON_SUFFIXES, choose, source_files

_PLACES = (ROOT, "memories", "documents", "memoryEntries", "results", "data")


def read_supermemory(source: Path) -> Read:
    """Yield the records of saved answers: `/v3/documents/list` with content, `/v4/memories/list`, or JSON Lines."""
    with source_files(source) as files:
        for file in choose(files, JSON_SUFFIXES, f"{source} holds no JSON file."):
            for record in records(file, _PLACES):
                yield to_item(record)


def to_item(record: Any) -> ImportedItem | LeftOut:
    """Convert a document or memory; a forgotten or replaced memory is left out."""
    identity = (record.get("customId") or record.get("id")) if isinstance(record, dict) else None
    if not identity:
        return LeftOut(str(record)[:100], "it has no id, by which it could be imported only once")
    content = text_of(record.get("content")) or text_of(record.get("memory")) or text_of(record.get("raw"))
    if record.get("isForgotten"):
        return LeftOut(str(identity), "it was forgotten")
    if record.get("isLatest") is False:
        return LeftOut(str(identity), "a newer version replaced it")
    if not content:
        reason = "the export has its title only; list with includeContent, or import from the server's address"
        return LeftOut(str(identity), reason)
    tags = record.get("containerTags") or [record.get("containerTag")]
    tags = [tag for tag in list_of(tags) if isinstance(tag, str) and tag]
    own = object_of(record.get("metadata"))
    about = {"source": "supermemory", "title": record.get("title"), "url": record.get("url"), "containerTags": tags[1:]}
    date = to_date(record.get("createdAt"))
    tag = tags[0] if tags else None
    return check(ImportedItem(stable_id("supermemory", identity), content, date, to_metadata({**about, **own}), tag))
