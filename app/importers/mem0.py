"""Memories of mem0: its JSON export, and dumps of the stores below it (Qdrant points, pgvector rows)."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.importers import imported_item
from app.importers.json_records import ROOT, Record, records
from app.importers.source_files import JSON_SUFFIXES, SourceFile, choose, each_file, source_files

_PLACES = (ROOT, "results", "memories", "points", "result.points", "data")
_OWNERS = ("user_id", "agent_id", "app_id", "run_id")
_INTERNAL = {
    "data",
    "memory",
    "text_lemmatized",
    "hash",
    "id",
    "score",
    "metadata",
    "created_at",
    "updated_at",
    "structured_attributes",
}


def read_mem0(source: Path) -> imported_item.Read:
    """Yield the memories of a JSON, JSON Lines or CSV file."""
    with source_files(source) as files:
        chosen = choose(files, (*JSON_SUFFIXES, ".csv"), f"{source} is neither JSON, JSON Lines nor CSV.")
        yield from each_file(chosen, _memories)


def _memories(file: SourceFile) -> imported_item.Read:
    rows = _csv_rows(file) if file.name.lower().endswith(".csv") else records(file, _PLACES)
    return map(_memory, rows)


def _csv_rows(file: SourceFile) -> Iterator[Record]:
    """Yield rows of a dump of the table (id, vector, payload) or of an export with a column per field."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a vector is one long field
    with file.open() as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        rows = csv.DictReader(text)
        try:
            if not {"payload", "memory", "data"} & set(rows.fieldnames or ()):
                raise imported_item.SourceError(f"{file.name} has no column payload, memory or data in its first line.")
            yield from rows
        except UnicodeDecodeError as error:
            raise imported_item.SourceError(f"{file.name} is not in UTF-8. Save it in UTF-8: {error}") from error
        except csv.Error as error:
            raise imported_item.SourceError(
                f"{file.name} can't be read as CSV near line {rows.line_num}: {error}"
            ) from error


def _memory(row: Any) -> imported_item.ImportedItem | imported_item.LeftOut:
    if not isinstance(row, dict):
        return imported_item.LeftOut(str(row)[:100], "it is not a memory")
    payload = _object(row.get("payload"))
    fields = {**row, **payload}
    identity = row.get("id") or payload.get("id") or payload.get("hash")
    if identity is None:
        return imported_item.LeftOut(str(row)[:100], "it has no id, by which it could be imported only once")
    text = imported_item.text_of(fields.get("memory")) or imported_item.text_of(fields.get("data"))
    owner = next((str(fields[name]) for name in _OWNERS if fields.get(name)), None)
    # The text stands since it was last changed; the day it was first written is kept beside it.
    created, updated = imported_item.to_date(fields.get("created_at")), imported_item.to_date(fields.get("updated_at"))
    own = {key: value for key, value in fields.items() if key not in _INTERNAL | {"vector", "payload"}}
    metadata = imported_item.to_metadata({**own, **_object(fields.get("metadata"))}, source="mem0", created=created)
    return imported_item.check(
        imported_item.ImportedItem(imported_item.stable_id("mem0", identity), text, updated or created, metadata, owner)
    )


def _object(value: Any) -> Record:
    """Return an object, also one written as JSON text; empty for anything else."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return imported_item.object_of(value)
