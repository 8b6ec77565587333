"""Supported kinds of files, and their metadata, for all providers of files."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import PurePath

from connectors.errors import ItemError
from pipeline.parsing.file_types import KIND_BY_EXTENSION, KIND_BY_MIME_TYPE, MEDIA_KINDS
from schemas.base import Metadata, parse_iso_time
from schemas.limits import MAX_FILE_BYTES

_TEXT_ENDINGS = frozenset({".ics", ".vcs"})
_UNTOLD_TYPES = frozenset({None, "", "application/octet-stream"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOrFolder:
    """File or folder of a drive, as far as all drives describe it alike."""

    id: str
    name: str
    parent: str | None
    is_folder: bool
    media_type: str | None
    size: int | None
    created: str | None
    modified: str | None
    author: str | None
    editor: str | None
    url: str | None

    @property
    def date(self) -> datetime | None:
        """Time of the last change; None if it is missing or no date, as year 1 stands for in Microsoft's files."""
        return parse_iso_time(self.modified or "")


def file_refusal(name: str, media_type: str | None, size: int | None) -> ItemError | None:
    """Return why a file can't be fetched as text, None if it can."""
    if size is not None and size > MAX_FILE_BYTES:
        limit = f"The file has {size:,} bytes; up to {MAX_FILE_BYTES:,} are read. Split it, or save it smaller."
        return ItemError(limit, code="too_large")
    if size == 0:
        return ItemError("The file is empty.", code="empty")
    if name.startswith("~$"):
        return ItemError("This is a lock file that Office keeps while a document is open.", code="unsupported")
    suffix = PurePath(name).suffix.lower()
    kind = KIND_BY_EXTENSION.get(suffix.removeprefix("."))
    declared_kind = KIND_BY_MIME_TYPE.get((media_type or "").partition(";")[0].strip().lower())
    if (kind or declared_kind) in MEDIA_KINDS:
        message = "Images, audio and video hold no text to read. Add a description or a transcript."
        return ItemError(message, code="unsupported")
    if kind or declared_kind or (media_type or "").startswith("text/"):
        return None
    if suffix in _TEXT_ENDINGS or (not suffix and media_type in _UNTOLD_TYPES):
        return None  # README, LICENSE: the pipeline finds out what it is
    return ItemError(f"Files of this kind ({media_type or 'unknown'}) can't be read as text.", code="unsupported")


def version_hash(*parts: str | None) -> str:
    """Return a short hash that changes with any of the values."""
    return sha256("\x1f".join(part or "" for part in parts).encode()).hexdigest()[:24]


def file_metadata(file: FileOrFolder, kind: str, path: str) -> Metadata:
    values: Mapping[str, str | None] = {
        "type": kind,
        "mimeType": file.media_type,
        "path": f"{path}/{file.name}" if path else file.name,
        "author": file.author,
        "lastEditedBy": file.editor,
        "createdAt": file.created,
        "updatedAt": file.modified,
    }
    return {name: value for name, value in values.items() if value}
