"""Messages that a program wrote as objects: JSON, lines of JSON, Python's notation, or a table of roles and texts."""

import ast
import csv
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any

from pipeline.text.calendar_day import parse_calendar_day
from pipeline.text.chats.message import Message
from pipeline.text.chats.roles import MACHINES, WRITERS, is_machine, is_writer

_LISTS = (
    "messages", "conversation", "conversations", "turns", "contents", "history", "events", "input", "chat", "dialog",
    "utterances", "sentences", "segments", "transcript", "results",
)  # fmt: skip
"""Fields of a chat that hold its messages."""
_TITLES = ("title", "subject", "topic")
_INNER = ("message", "data", "kwargs")
"""Fields of a message that hold the message itself."""
_SAID = ("content", "text", "message", "said", "value", "parts", "transcript")
_WHEN = ("timestamp", "date", "created_at", "createdAt", "create_time", "time", "ts")
_WHO = (
    "user_profile", "name", "speaker", "speaker_name", "author", "sender", "sender_name", "from", "user", "role",
)  # fmt: skip
_SPEAKERS = frozenset({"speaker", "speaker_name", "sender", "sender_name"})
_FIELDS = frozenset({*_SAID, *_WHEN, *_WHO, "id"})
_KINDS = ("type", "event")
"""Fields that say who speaks only where their value is a role."""
_NAMED = ("real_name", "display_name", "global_name", "nickname", "name", "username", "role")
"""Fields of the object that stands for a person in a message."""
_SECONDS = re.compile(r"\d{9,13}(?:\.\d+)?")
_LATEST_SECONDS = 10_000_000_000
"""A greater number is of milliseconds."""
_PYTHON = re.compile(r"\[?\s*\{\s*'")
_MAX_PYTHON_CHARS = 200_000
"""Length up to which Python's notation is read: its syntax tree takes a hundred times the memory."""


def object_messages(text: str) -> list[Message]:
    """Return the messages of a chat in order; none for any other text.

    >>> object_messages('{"role": "user", "content": "I ski."}\\n{"role": "assistant", "content": "Nice."}')
    [Message(who='user', said='I ski.', start=29, on=None), Message(who='assistant', said='Nice.', start=72, on=None)]
    """
    found: list[Message] = []
    position = 0
    for who, said, _, on in _messages(_values(text)) or _table_messages(text):
        start = text.find(said, position)
        position = max(position, start)
        found.append(Message(who, said, start if start >= 0 else None, on))
    return found


def complete_chat(text: str) -> tuple[str, list[Message]]:
    """Return the title and the messages, without offsets, of a chat of which they are all that it holds.

    Each object is a message with a role and a text, and each column of a table is part of it; no messages otherwise.
    """
    value = _values(text)
    titles = (value.get(key) for key in _TITLES) if isinstance(value, dict) else ()
    title = next((title for title in titles if isinstance(title, str)), "").strip()
    return title, _messages(value, complete=True) or _table_messages(text, complete=True)


def _values(text: str) -> Any:
    """Return the value that a text writes down; a list where it is a line each."""
    written = text.strip()
    if written[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        pass
    try:
        if _PYTHON.match(written) and len(written) <= _MAX_PYTHON_CHARS:
            return ast.literal_eval(written)
        return [json.loads(line) for line in written.splitlines() if line.strip()]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _table_messages(text: str, *, complete: bool = False) -> list[Message]:
    """Return the messages in a table in CSV or Markdown that has a column of roles or speakers and one of texts."""
    head = text.lstrip().partition("\n")[0]
    cells = _markdown_cells if head.startswith("|") else csv.reader
    try:
        fields = [field.strip().casefold() for field in next(iter(cells([head])), [])]
        if not ({*_WHO} & {*fields} and {*_SAID} & {*fields}) or (complete and not _FIELDS.issuperset(fields)):
            return []
        _, *rows = cells(text.strip().splitlines())
    except csv.Error:
        return []
    found = _messages([dict(zip(fields, row, strict=False)) for row in rows], complete=complete)
    speaks_again = not _SPEAKERS.isdisjoint(fields) and 1 < len({message.who for message in found}) < len(found)
    return found if speaks_again or _is_answered(found) else []


def _markdown_cells(lines: Sequence[str]) -> Iterator[list[str]]:
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not all(set(cell) <= set(":-") for cell in cells):
            yield cells


def _messages(value: Any, *, complete: bool = False) -> list[Message]:
    if isinstance(value, dict):
        nodes = value.get("mapping")  # a tree of messages, in the order in which they were written
        value = [*nodes.values()] if isinstance(nodes, dict) else _first_list(value)
    if not isinstance(value, list):
        return []
    read = [_message(item) for item in value]
    found = [message for message in read if message is not None]
    if not found:
        parts = [_messages(item, complete=complete) for item in value if isinstance(item, dict)]
        return list(chain.from_iterable(parts)) if all(parts) or not complete else []
    said = [message for message in found if message.said]
    if complete:
        has_roles = _is_answered(said) or all(isinstance(item.get("role"), str) for item in value)
        return said if len(said) == len(read) and has_roles else []
    # Events and calls of tools stand between the messages of a chat with an assistant, but in no list of others.
    return said if len(found) == len(read) or _is_answered(found) else []


def _first_list(value: dict[str, Any]) -> Any:
    found = next((value[key] for key in _LISTS if isinstance(value.get(key), list | dict)), None)
    return _first_list(found) if isinstance(found, dict) else found


def _is_answered(messages: Sequence[Message]) -> bool:
    names = [message.who for message in messages]
    return any(map(is_machine, names)) and any(map(is_writer, names))


def _message(item: Any) -> Message | None:
    if not isinstance(item, dict):
        return None
    for key in _INNER:
        if isinstance(inner := item.get(key), dict):
            item = {**{name: value for name, value in item.items() if name != key}, **inner}
    said = next((_plain(item[key]) for key in _SAID if key in item), None)
    kinds = (item.get(key) for key in ("role", *_KINDS))
    role = next((kind for kind in kinds if isinstance(kind, str) and kind.casefold() in WRITERS | MACHINES), None)
    if role is not None and is_machine(role):
        return Message(role, said or "", None)
    who = next((name for key in _WHO if (name := _name(item.get(key)))), role)
    when = next((item[key] for key in _WHEN if isinstance(item.get(key), str | int | float)), "")
    return Message(who, said, None, _day(when)) if who and said is not None else None


def _name(who: Any) -> str | None:
    """Return a person's name, which is a string or within an object."""
    if isinstance(who, dict):
        return next((who[key] for key in _NAMED if isinstance(who.get(key), str) and who[key]), None)
    return who if isinstance(who, str) and who.strip() else None


def _day(when: str | float) -> date | None:
    """Return the day of a written time, or of seconds or milliseconds since 1970."""
    if isinstance(when, str) and not _SECONDS.fullmatch(when):
        return parse_calendar_day(when)
    seconds = float(when) if isinstance(when, str) else when
    if not 0 < seconds <= 1000 * _LATEST_SECONDS:
        return None  # too large a number could not be divided either
    return datetime.fromtimestamp(seconds / 1000 if seconds > _LATEST_SECONDS else seconds, UTC).date()


def _plain(content: Any) -> str:
    """Content as a string, or as a list: parts of a message with images, a line each, or runs of one line."""
    if isinstance(content, dict):
        content = next((content[key] for key in ("parts", "text") if key in content), "")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    runs = [part.get("text") if isinstance(part, dict) else part for part in content]
    joint = "" if any(isinstance(part, str) for part in content) else "\n"
    return joint.join(run for run in runs if isinstance(run, str))
