"""Documents of readers, what they leave out and why, and conversion of a source's ids, dates and metadata."""

import hashlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from schemas.base import Metadata, parse_iso_time
from schemas.limits import MAX_CONTENT_BYTES, MAX_DOCUMENT_ID_LENGTH, MAX_NAMESPACE_LENGTH

_ID = re.compile(r"[\w.:@+-]+")
_NOT_NAMESPACE = re.compile(r"[^a-zA-Z0-9_:-]+")
_MILLISECONDS = 1e11
"""Numbers above this are milliseconds: as seconds they would be years after 5000."""
_CALENDAR_DIGITS = (4, 8)
"""Number of digits of a year, and of a year, month and day."""


class SourceError(Exception):
    """A source that is not in the named format, or that ends in the middle; the message is for people."""


@dataclass(frozen=True, slots=True)
class ImportedItem:
    """A document to import; `namespace`: the source's own user, group or tag, if it has one."""

    id: str
    content: str
    date: str | None = None
    metadata: Metadata = field(default_factory=dict)
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    item: str
    reason: str


Read = Iterator[ImportedItem | LeftOut]
Reader = Callable[[Path], Read]


def stable_id(source: str, *parts: object) -> str:
    """Build a document id from the source's own ids: the same parts give the same id, whatever they contain.

    >>> stable_id("chatgpt", "a1", "2024-05-01")
    'chatgpt:a1:2024-05-01'
    """
    name = ":".join([source, *map(str, parts)])
    if _ID.fullmatch(name) and name.isascii() and len(name) <= MAX_DOCUMENT_ID_LENGTH:
        return name
    whole = "\0".join(map(str, parts))
    return f"{source}:{_digest(whole, 32)}"


def to_namespace(name: str) -> str:
    """Turn a user id, group or tag into a namespace; names that differ stay different.

    >>> to_namespace("dev"), to_namespace("dev@example.org")
    ('dev', 'dev-example-org-2d385e')
    """
    clean = _NOT_NAMESPACE.sub("-", name)
    if clean == name and len(name) <= MAX_NAMESPACE_LENGTH:
        return name
    return f"{clean[: MAX_NAMESPACE_LENGTH - 7].strip('-')}-{_digest(name, 6)}".lstrip("-")


def to_metadata(values: Mapping[str, Any], **more: Any) -> Metadata:
    """Keep what metadata may hold: strings, numbers, booleans and lists of strings; nested objects get dotted keys."""
    kept: Metadata = {}
    for written, value in {**values, **more}.items():
        key = text_of(written)
        match value:
            case dict():
                kept.update({f"{key}.{inner}": item for inner, item in to_metadata(value).items()})
            case list() if value:
                kept[key] = [text_of(str(item)) for item in value if isinstance(item, str | int | float | Decimal)]
            case str() if value:
                kept[key] = text_of(value)
            case bool():
                kept[key] = value
            case int() | float() | Decimal() if -sys.float_info.max <= value <= sys.float_info.max:
                kept[key] = int(value) if value == int(value) else float(value)
    return {key: value for key, value in kept.items() if value != []}


def to_date(value: Any) -> str | None:
    """Return an ISO date or time of Unix seconds, milliseconds, microseconds or a string; None for anything else.

    >>> to_date(1714566600), to_date("2024-05-01T12:30:00Z"), to_date("soon")
    ('2024-05-01T12:30:00+00:00', '2024-05-01T12:30:00Z', None)
    >>> to_date(2024), to_date("20240501")  # no seconds of 1970
    ('2024', '20240501')
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    if not isinstance(value, float):
        text = str(value).strip()
        digits = text.replace(".", "", 1)
        if len(text) in _CALENDAR_DIGITS or not (digits.isascii() and digits.isdigit()):
            return None if parse_iso_time(text) is None else text
        value = Decimal(text)
    try:
        seconds = float(value)
        while _MILLISECONDS < abs(seconds) < math.inf:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds > 0 else None
    except (OverflowError, ValueError, OSError):
        return None


def check(item: ImportedItem) -> ImportedItem | LeftOut:
    """Return the item, or why no service would take it; without a date that stands for none, like the year 1."""
    if not item.content.strip():
        return LeftOut(item.id, "it holds no text")
    if len(item.content) > MAX_CONTENT_BYTES or len(item.content.encode(errors="replace")) > MAX_CONTENT_BYTES:
        return LeftOut(item.id, f"it is larger than {MAX_CONTENT_BYTES // 2**20} MB")
    return item if item.date is None or parse_iso_time(item.date) is not None else replace(item, date=None)


def text_of(value: Any) -> str:
    """Return a string without lone surrogates, which no request can carry; empty for anything else."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def list_of(value: Any) -> list[Any]:
    """Return a list; empty for anything else, which a damaged or foreign export may have in its place."""
    return value if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """Return an object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:length]
