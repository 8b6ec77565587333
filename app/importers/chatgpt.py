"""ChatGPT's data export: conversations.json, where each conversation is a tree of messages and their edits.

The branch that was shown last, from `current_node` up to the root, is imported; other branches are counted.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.importers.imported_item import LeftOut, Read, SourceError, object_of, text_of, to_date
from app.importers.json_records import ROOT, Record, records
from app.importers.source_files import SourceFile, each_file, source_files
from app.importers.transcripts import ChatMessage, conversation_documents

_CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
_SPEAKERS = {"user": "user", "assistant": "assistant"}
_TO_ALL = (None, "all")
_TEXT_TYPES = (None, "text", "multimodal_text")
_MEDIA = {
    "image_asset_pointer": "an image",
    "audio_asset_pointer": "a recording",
    "video_container_asset_pointer": "a video",
}


def read_chatgpt(source: Path) -> Read:
    """Yield the conversations of the export's zip archive, its folder, or conversations.json."""
    with source_files(source) as files:
        chosen = [file for file in files if _CONVERSATIONS.search(file.name)]
        chosen = chosen or [file for file in files if file.name == source.name]
        if not chosen:
            raise SourceError(f"{source} holds no conversations.json: it is not a data export of ChatGPT.")
        yield from each_file(chosen, _conversations)


def _conversations(file: SourceFile) -> Read:
    for record in records(file, [ROOT]):
        yield from _conversation(record)


def _conversation(record: Any) -> Read:
    if not isinstance(record, dict) or not isinstance(record.get("mapping"), dict):
        yield LeftOut(_name(record), "it is not a conversation: it has no messages")
        return
    identity = str(record.get("conversation_id") or record.get("id") or "")
    if not identity:
        yield LeftOut(_name(record), "it has no id, by which it could be imported only once")
        return
    yield from conversation_documents("chatgpt", identity, record.get("title"), _messages(record, identity))


def _messages(record: Record, identity: str) -> Iterator[ChatMessage | LeftOut]:
    mapping, branch = record["mapping"], _branch(record)
    if others := sum(1 for node in mapping.values() if _is_spoken(node)) - sum(map(_is_spoken, branch)):
        yield LeftOut(f"{identity}, {others:,} messages", "branches that were edited or regenerated")
    started = to_date(record.get("create_time"))
    for node in branch:
        if not _is_spoken(node):
            continue
        message = node["message"]
        text, media = _text(message["content"])
        yield from (LeftOut(identity, f"{kind} is not in conversations.json as text") for kind in media)
        if text.strip():
            yield ChatMessage(
                _SPEAKERS[message["author"]["role"]], text, to_date(message.get("create_time")) or started
            )


def _branch(record: Record) -> list[Any]:
    """List the nodes from the root to the current one; a loop in damaged data ends the walk."""
    mapping = record["mapping"]
    name = record.get("current_node")
    if not isinstance(name, str) or name not in mapping:
        name = next((key for key in reversed(mapping) if not object_of(mapping[key]).get("children")), None)
    nodes: dict[str, Any] = {}
    while isinstance(name, str) and name in mapping and name not in nodes and isinstance(mapping[name], dict):
        nodes[name] = mapping[name]
        name = mapping[name].get("parent")
    return list(reversed(nodes.values()))


def _is_spoken(node: Any) -> bool:
    """Return whether a node is a message that the user saw, of the user or the assistant."""
    message = object_of(object_of(node).get("message"))
    content = object_of(message.get("content"))
    return (
        bool(content)
        and text_of(object_of(message.get("author")).get("role")) in _SPEAKERS
        and message.get("recipient") in _TO_ALL
        and content.get("content_type") in _TEXT_TYPES
        and not object_of(message.get("metadata")).get("is_visually_hidden_from_conversation")
    )


def _text(content: Record) -> tuple[str, list[str]]:
    """Return the text of a message, transcribed speech included, and the kinds of media in it."""
    texts, media = [], []
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else [content.get("text")]:
        if isinstance(part, str):
            texts.append(text_of(part))
        elif isinstance(part, dict):
            if part.get("text"):
                texts.append(text_of(part["text"]))
            elif kind := _MEDIA.get(str(part.get("content_type"))):
                media.append(kind)
    return "\n".join(texts), media


def _name(record: Any) -> str:
    return (
        str(record.get("id") or record.get("title") or "a conversation")[:100]
        if isinstance(record, dict)
        else str(record)[:100]
    )
