"""Folders of Markdown notes, such as an Obsidian vault: front matter becomes metadata, file dates are kept."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.importers.imported_item import ImportedItem, LeftOut, Read, SourceError, check, stable_id, to_date, to_metadata
from app.importers.source_files import decode_text, leads_outside
from schemas.base import Metadata
from schemas.limits import MAX_CONTENT_BYTES

_NOTES = (".md", ".markdown", ".mdx")
_DATES = ("date", "created", "created_at", "creation date", "updated", "modified")
_DIGITS = {4: "%Y", 8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*$\r?\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^(?P<key>[^\s:#-][^:]*?)\s*:(?:\s+(?P<value>.*?))?\s*$")
_ENTRY = re.compile(r"^\s*-\s+(?P<value>.*?)\s*$")
_COMMENT = re.compile(r"\s+#.*$")


def read_markdown(source: Path) -> Read:
    """Yield the notes of a folder and the folders in it, or a single note."""
    root = source if source.is_dir() else source.parent
    paths = sorted(root.rglob("*")) if source.is_dir() else [source]
    notes = 0
    for path in paths:
        name = path.relative_to(root)
        if any(part.startswith(".") for part in name.parts):
            continue  # an application's own files, such as .obsidian and .trash
        if path.is_dir():
            if path.is_symlink():
                yield LeftOut(name.as_posix(), "it is a link to another folder")
        elif leads_outside(path, root):
            yield LeftOut(name.as_posix(), "it is a link to a file outside of the folder")
        elif path.suffix.lower() in _NOTES:
            notes += 1
            yield from _note(path, name.as_posix())
        else:
            yield LeftOut(name.as_posix(), "it is not a note; add it with `recollect add --file`")
    if not notes:
        raise SourceError(f"{source} holds no Markdown file ({', '.join(_NOTES)}).")


def _note(path: Path, name: str) -> Read:
    status = path.stat()
    if status.st_size > MAX_CONTENT_BYTES:
        yield LeftOut(name, f"it is larger than {MAX_CONTENT_BYTES // 2**20} MB")
        return
    text = decode_text(path.read_bytes())
    if "\0" in text:
        yield LeftOut(name, "it is not text")
        return
    fields, unread = parse_front_matter(text)
    for line in unread:
        yield LeftOut(f"{name}: {line}", "a line of the front matter that is neither a field nor an entry of a list")
    written = next((date for key in _DATES if (date := date_of(fields.get(key)))), None)
    date = written or datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
    metadata = to_metadata({"source": "markdown", "path": name, "title": path.stem, **fields})
    yield check(ImportedItem(stable_id("markdown", name), body_of(text), date, metadata))


def date_of(value: Any) -> str | None:
    """Return the date of a field; digits are a year, or a date without marks as notes' names have it, not Unix time.

    >>> date_of(20240501), date_of("202405011230"), date_of(2024), date_of("2024-05-01")
    ('2024-05-01', '2024-05-01T12:30:00', '2024-01-01', '2024-05-01')
    """
    text = str(value).strip()
    if not text.replace(".", "", 1).isdecimal():
        return to_date(value)
    try:
        at = datetime.strptime(text, _DIGITS.get(len(text), "%Y"))  # noqa: DTZ007 - notes name no zone
    except ValueError:
        return None
    return at.isoformat() if len(text) > len("20240501") else at.date().isoformat()


def body_of(text: str) -> str:
    """Return a note without its front matter."""
    return _FRONT_MATTER.sub("", text, count=1).strip()


def parse_front_matter(text: str) -> tuple[Metadata, list[str]]:
    r"""Read fields and lists of the front matter, as note applications write them; return also lines not understood.

    >>> parse_front_matter("---\ntags: [bees, 'wild flowers']\nrating: 4\nauthors:\n  - Ann\n---\nText")
    ({'tags': ['bees', 'wild flowers'], 'rating': 4, 'authors': ['Ann']}, [])
    """
    found = _FRONT_MATTER.match(text)
    fields: dict[str, Any] = {}
    unread: list[str] = []
    key = ""
    for line in found[1].splitlines() if found else ():
        if field := _FIELD.match(line):
            key = field["key"].strip("\"'")
            fields[key] = _value(field["value"] or "")
        elif (entry := _ENTRY.match(line)) and key and isinstance(fields[key] or [], list):
            fields[key] = [*(fields[key] or []), str(_value(entry["value"]))]
        elif line.strip() and not line.lstrip().startswith("#"):
            unread.append(line.strip())
    return to_metadata(fields), unread


def _value(written: str) -> Any:
    if len(written) > 1 and written[0] == written[-1] and written[0] in "\"'":
        return written[1:-1]
    written = _COMMENT.sub("", written).strip()
    if written.startswith("[") and written.endswith("]") and not written.startswith("[["):
        return list(_entries(written[1:-1]))
    if written in {"true", "false"}:
        return written == "true"
    if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", written):
        return float(written) if "." in written else int(written)
    return "" if written in {"null", "~"} else written


def _entries(written: str) -> Iterator[str]:
    for quoted, plain in re.findall(r"\"([^\"]*)\"|([^,]+)", written):
        if entry := quoted or plain.strip().strip("\"'"):
            yield entry
