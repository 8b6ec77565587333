"""What kinds of files are worth fetching, and what is told of them, for every provider of files."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import Protocol

from pipeline.extraction.kinds import EXTENSIONS, MEDIA, MIME_TYPES
from schemas.base import Metadata
from schemas.limits import FILE_BYTES


class Described(Protocol):
    """What a drive says of a file."""

    @property
    def name(self) -> str: ...
    @property
    def media_type(self) -> str | None: ...
    @property
    def author(self) -> str | None: ...
    @property
    def editor(self) -> str | None: ...
    @property
    def created(self) -> str | None: ...
    @property
    def modified(self) -> str | None: ...


def refusal(name: str, media_type: str | None, size: int | None) -> tuple[str, str] | None:
    """Why a file is not fetched: a code and a sentence for people; None where it is."""
    if size is not None and size > FILE_BYTES:
        return (
            "too_large",
            f"The file has {size:,} bytes; up to {FILE_BYTES:,} are read. Split it, or save it smaller.",
        )
    if size == 0:
        return "empty", "The file is empty."
    if name.startswith("~$"):
        return "unsupported", "It is a note of Office that somebody has a document open."
    kind = EXTENSIONS.get(PurePath(name).suffix.lower().removeprefix("."))
    told = MIME_TYPES.get((media_type or "").partition(";")[0].strip().lower())
    if (kind or told) in MEDIA:
        return (
            "unsupported",
            "Images, audio and video hold no text to read. Add a description or a transcript.",
        )
    if kind or told or (media_type or "").startswith("text/"):
        return None
    return "unsupported", f"Files of this kind ({media_type or 'unknown'}) can't be read as text."


def version(*parts: str | None) -> str:
    """A short name for these values together: it changes when one of them does."""
    return sha256("\x1f".join(part or "" for part in parts).encode()).hexdigest()[:24]


def metadata_of(file: Described, kind: str, path: str) -> Metadata:
    """Of a file in the folder with this path."""
    told: Mapping[str, str | None] = {
        "type": kind,
        "mimeType": file.media_type,
        "path": f"{path}/{file.name}" if path else file.name,
        "author": file.author,
        "lastEditedBy": file.editor,
        "createdAt": file.created,
        "updatedAt": file.modified,
    }
    return {name: value for name, value in told.items() if value}
