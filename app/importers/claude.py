"""Claude's data export: conversations.json with the messages of each conversation in order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.importers.imported_item import LeftOut, Read, SourceError, list_of, text_of, to_date
from app.importers.json_records import ROOT, Record, records
from app.importers.source_files import source_files
from app.importers.transcripts import ChatMessage, conversation_documents

_SPEAKERS = {"human": "user", "user": "user", "assistant": "assistant"}


def read_claude(source: Path) -> Read:
    """Yield the conversations of the export's zip archive, its folder, or conversations.json."""
    with source_files(source) as files:
        chosen = [file for file in files if file.name.rpartition("/")[2] == "conversations.json"]
        chosen = chosen or [file for file in files if file.name == source.name]
        if not chosen:
            raise SourceError(f"{source} holds no conversations.json: it is not a data export of Claude.")
        for file in files:
            if file not in chosen and file.name.rpartition("/")[2] in {"projects.json", "memories.json"}:
                yield LeftOut(file.name, "only conversations are imported; add this file's texts by `recollect add`")
        for file in chosen:
            for record in records(file, [ROOT, "conversations"]):
                yield from _conversation(record)


def _conversation(record: Any) -> Read:
    identity = record.get("uuid") if isinstance(record, dict) else None
    if not identity or not isinstance(record.get("chat_messages"), list):
        yield LeftOut(str(identity or record)[:100], "it is not a conversation: it has no id or no messages")
        return
    yield from conversation_documents("claude", identity, record.get("name"), _messages(record, identity))


def _messages(record: Record, identity: str) -> Iterator[ChatMessage | LeftOut]:
    started = to_date(record.get("created_at"))
    for message in record["chat_messages"]:
        speaker = _SPEAKERS.get(str(message.get("sender"))) if isinstance(message, dict) else None
        if speaker is None:
            yield LeftOut(identity, "a message that names no sender")
            continue
        for file in [*list_of(message.get("attachments")), *list_of(message.get("files"))]:
            name = file.get("file_name") if isinstance(file, dict) else file
            yield LeftOut(f"{identity}: {name}", "a file that was attached to a message")
        if text := _text(message).strip():
            yield ChatMessage(speaker, text, to_date(message.get("created_at")) or started)


def _text(message: Record) -> str:
    """Return the text blocks of a message: `text` also repeats what tools did."""
    said = [
        text_of(block.get("text"))
        for block in list_of(message.get("content"))
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    return "\n".join(filter(None, said)) or text_of(message.get("text"))
