"""Slack's workspace export: users.json, lists of channels, and a file of messages for each channel and day."""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.importers.imported_item import LeftOut, Read, SourceError, list_of, object_of, text_of, to_date, to_metadata
from app.importers.json_records import ROOT, IntactRecords, Record, records
from app.importers.source_files import SourceFile, each_file, source_files
from app.importers.transcripts import ChatMessage, transcript_documents

_DAY = re.compile(r"(?:^|/)(?P<channel>[^/]+)/(?P<day>\d{4}-\d{2}-\d{2})\.json$")
_CHANNEL_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_REFERENCE = re.compile(r"<(?P<kind>[@#!]?)(?P<target>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")
_SPOKEN = (None, "bot_message", "thread_broadcast", "me_message", "file_share", "file_comment")


def read_slack(source: Path) -> Read:
    """Yield a document for each channel and day, and for each day of a thread."""
    with source_files(source) as files:
        days = {file.name: found for file in files if (found := _DAY.search(file.name))}
        if not days:
            raise SourceError(f"{source} holds no CHANNEL/YYYY-MM-DD.json: it is not an export of a Slack workspace.")
        names = _user_names(files)
        channels = _channel_ids(files)
        seen: Counter[str] = Counter()  # files are of days in the workspace's zone, documents of days in UTC
        chosen = sorted(
            (file for file in files if file.name in days),
            key=lambda file: (days[file.name]["channel"], days[file.name]["day"]),
        )

        def read_day(file: SourceFile) -> Read:
            channel = days[file.name]["channel"]
            return _day(file, channel, channels.get(channel, channel), names, seen)

        yield from each_file(chosen, read_day)


def _day(file: SourceFile, channel: str, channel_id: str, names: Mapping[str, str], seen: Counter[str]) -> Read:
    threads: dict[str, list[ChatMessage]] = defaultdict(list)
    intact = IntactRecords(records(file, [ROOT]))
    for record in intact:
        spoken = _message(record, names)
        if isinstance(spoken, str):
            yield LeftOut(f"{channel}, {_time(record) or file.name}", spoken)
            continue
        for attached in list_of(record.get("files")):
            name = attached.get("name") if isinstance(attached, dict) else attached
            yield LeftOut(f"{channel}, {_time(record)}: {name}", "a file that was shared")
        if spoken.text:
            threads[str(record.get("thread_ts") or "")].append(spoken)
    for thread, messages in threads.items():
        about = {"source": "slack", "channel": channel, "thread": thread}
        place = f"{channel_id}:{thread}" if thread else channel_id
        yield from transcript_documents("slack", place, messages, to_metadata(about), seen=seen)
    intact.raise_damage()


def _message(record: Any, names: Mapping[str, str]) -> ChatMessage | str:
    """Return a message, or why it is left out."""
    if not isinstance(record, dict) or record.get("type") != "message":
        return "it is not a message"
    if record.get("subtype") not in _SPOKEN:
        return f"a notice of Slack itself ({record['subtype']})"
    text = to_plain_text(text_of(record.get("text")), names).strip()
    if not text and not record.get("files"):
        return "it holds no text"
    profile = object_of(record.get("user_profile"))
    named = names.get(str(record.get("user"))) or profile.get("real_name") or record.get("username")
    return ChatMessage(text_of(named or record.get("user")) or "someone", text, _time(record))


def to_plain_text(text: str, names: Mapping[str, str]) -> str:
    """Replace Slack's references by names and addresses.

    >>> to_plain_text("<@U1> see <https://a.example|the plan> in <#C1|general> &amp; go", {"U1": "Ann"})
    '@Ann see the plan (https://a.example) in #general & go'
    """

    def name(found: re.Match[str]) -> str:
        kind, target, label = found["kind"], found["target"], found["label"]
        if kind == "@":
            return f"@{names.get(target) or label or target}"
        if kind:
            return f"{'#' if kind == '#' else '@'}{label or target}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_REFERENCE.sub(name, text))


def _time(record: Any) -> str | None:
    return to_date(record.get("ts")) if isinstance(record, dict) else None


def _user_names(files: list[SourceFile]) -> dict[str, str]:
    names: dict[str, str] = {}
    for user in _named(files, "users.json"):
        profile = object_of(user.get("profile"))
        shown = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
        if user.get("id") and shown:
            names[str(user["id"])] = str(shown)
    return names


def _channel_ids(files: list[SourceFile]) -> dict[str, str]:
    """Map folders to the ids of their channels, which outlive a new name."""
    lists = (entry for name in _CHANNEL_LISTS for entry in _named(files, name))
    return {str(entry.get("name") or entry["id"]): str(entry["id"]) for entry in lists if entry.get("id")}


def _named(files: list[SourceFile], name: str) -> Iterator[Record]:
    for file in files:
        if file.name.rpartition("/")[2] == name:
            yield from (entry for entry in records(file, [ROOT]) if isinstance(entry, dict))
