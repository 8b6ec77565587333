"""Channels of Discord as DiscordChatExporter writes them in JSON."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from app.importers.imported_item import LeftOut, Read, SourceError, list_of, object_of, text_of, to_date, to_metadata
from app.importers.json_records import IntactRecords, Record, records, value_at
from app.importers.source_files import SourceFile, choose, each_file, source_files
from app.importers.transcripts import ChatMessage, transcript_documents

_SPOKEN = {"Default", "Reply", "ThreadStarterMessage", "ChatInputCommand", "ContextMenuCommand", "0", "19", "None", ""}


def read_discord(source: Path) -> Read:
    """Yield the channels of a JSON file, or of a folder or zip archive of them, a document for each day."""
    with source_files(source) as files:
        missing = f"{source} holds no JSON file. Export with DiscordChatExporter in the format Json."
        chosen = choose(files, (".json",), missing)
        seen: Counter[str] = Counter()  # a channel may be in several files, its partitions
        yield from each_file(chosen, lambda file: _channel(file, seen))


def _channel(file: SourceFile, seen: Counter[str]) -> Read:
    if file.size == 0:
        raise SourceError(f"{file.name} is empty.")
    channel, guild = value_at(file, "channel"), value_at(file, "guild")
    if not isinstance(channel, dict) or not channel.get("id"):
        raise SourceError(f"{file.name} names no channel: it was not written by DiscordChatExporter.")
    name = str(channel.get("name") or channel["id"])
    guild_name = object_of(guild).get("name")
    about = {"source": "discord", "channel": name, "server": guild_name, "category": channel.get("category")}
    intact = IntactRecords(records(file, ["messages"]))
    messages = _messages(intact, name)
    yield from transcript_documents("discord", str(channel["id"]), messages, to_metadata(about), seen=seen)
    intact.raise_damage()


def _messages(records: Iterable[Any], channel: str) -> Iterator[ChatMessage | LeftOut]:
    for record in records:
        identity = f"{channel}: {record.get('id') if isinstance(record, dict) else record}"
        if not isinstance(record, dict) or str(record.get("type") or "") not in _SPOKEN:
            yield LeftOut(identity, "a notice of Discord itself, such as a pin or a new member")
            continue
        for attachment in list_of(record.get("attachments")):
            shown = attachment.get("fileName") if isinstance(attachment, dict) else attachment
            yield LeftOut(f"{identity}, {shown}", "a file that was attached")
        if text := text_of(record.get("content")).strip():
            yield ChatMessage(_author(record), text, to_date(record.get("timestamp")))
        elif not record.get("attachments"):
            yield LeftOut(identity, "it holds no text")


def _author(record: Record) -> str:
    author = object_of(record.get("author"))
    return text_of(author.get("nickname")) or text_of(author.get("name")) or "someone"
