"""Episodes, messages and facts of Zep and Graphiti."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from app.importers import imported_item
from app.importers.json_records import ROOT, IntactRecords, Record, records, value_at
from app.importers.source_files import JSON_SUFFIXES, SourceFile, choose, each_file, source_files
from app.importers.transcripts import ChatMessage, transcript_documents

_PLACES = (ROOT, "items", "episodes", "messages", "edges", "facts", "data")
"""Version 4 of Zep answers pages of `items`; Graphiti and earlier versions name the list by what it holds."""
_MACHINES = {"assistant", "system", "tool", "function"}
_SESSIONS = ("session_id", "thread_id", "thread_uuid")
_OWNERS = ("group_id", "graph_id", "graph_uuid", "user_id", "user_uuid")
_DATES = ("valid_at", "reference_time", "created_at")
"""What it is about comes before when it was received."""


def read_zep(source: Path) -> imported_item.Read:
    """Yield what saved answers of the graph's episodes and edges, or of a thread's messages, hold."""
    with source_files(source) as files:
        chosen = choose(files, JSON_SUFFIXES, f"{source} holds no JSON file.")
        seen: Counter[str] = Counter()  # threads may alternate, and come in the pages of several files
        yield from each_file(chosen, lambda file: _file(file, seen))


def _file(file: SourceFile, seen: Counter[str]) -> imported_item.Read:
    intact = IntactRecords(records(file, _PLACES, every=True))
    for is_message, group in groupby(intact, key=_is_message):
        if is_message:
            yield from _threads(file, group, seen)
        else:
            yield from map(_item, group)
    intact.raise_damage()


def _is_message(record: Any) -> bool:
    """Return whether a record is a message of a thread: an episode has a source or a group."""
    return isinstance(record, dict) and "role" in record and not {"source", "group_id", "graph_uuid"} & set(record)


def _item(record: Any) -> imported_item.ImportedItem | imported_item.LeftOut:
    identity = record.get("uuid") or record.get("uuid_") if isinstance(record, dict) else None
    if not identity:
        return imported_item.LeftOut(str(record)[:100], "it has no uuid, by which it could be imported only once")
    if record.get("invalid_at") or record.get("expired_at"):
        return imported_item.LeftOut(str(identity), "a fact that is no longer true")
    text = imported_item.text_of(record.get("content")) or imported_item.text_of(record.get("fact"))
    date = _date(record)
    about = {name: record.get(name) for name in ("name", "source_description", "thread_id")}
    metadata = imported_item.to_metadata(
        {**about, **imported_item.object_of(record.get("metadata"))}, source="zep", kind=record.get("source")
    )
    return imported_item.check(
        imported_item.ImportedItem(imported_item.stable_id("zep", identity), text, date, metadata, _owner(record))
    )


def _threads(file: SourceFile, group: Iterable[Record], seen: Counter[str]) -> imported_item.Read:
    """Yield messages as transcripts; a file of one thread names it once, beside the list."""
    whole = {name: None if file.name.lower().endswith("l") else _beside(file, name) for name in (*_SESSIONS, *_OWNERS)}

    def thread(record: Record) -> str:
        named = next((record[name] for name in _SESSIONS if record.get(name)), None)
        return str(named or next(filter(None, map(whole.get, _SESSIONS)), None) or file.name.rpartition("/")[2])

    for name, messages in groupby(group, key=thread):
        rows = list(messages)
        owner = _owner(rows[0]) or _owner(whole)
        metadata = imported_item.to_metadata({"source": "zep", "thread": name})
        yield from transcript_documents("zep", name, _messages(rows), metadata, owner, seen=seen)


def _beside(file: SourceFile, name: str) -> Any:
    with file.open() as stream:
        is_object = stream.read(64).lstrip()[:1] == b"{"
    return value_at(file, name) if is_object else None


def _messages(rows: Iterable[Record]) -> Iterator[ChatMessage]:
    for row in rows:
        if text := imported_item.text_of(row.get("content")).strip():
            kind = str(row.get("role_type"))
            role = str(row["role"] or "")
            machine = kind in _MACHINES or role in _MACHINES
            named = row.get("name") or (None if role in {"user", "assistant", "system"} else role)
            speaker = "assistant" if machine else str(named or "user")
            yield ChatMessage(speaker, text, _date(row))


def _owner(record: Record) -> str | None:
    return next((str(record[name]) for name in _OWNERS if record.get(name)), None)


def _date(record: Record) -> str | None:
    return next((date for name in _DATES if (date := imported_item.to_date(record.get(name)))), None)
