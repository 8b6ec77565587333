"""Records of JSON and JSON Lines, read as streams: memory holds one record."""

import json
from collections.abc import Collection, Iterator
from typing import Any

import ijson

from app.importers.imported_item import SourceError
from app.importers.source_files import SourceFile

ROOT = ""
"""The place of a list that is the whole file."""
_LINES_SUFFIXES = (".jsonl", ".ndjson")
_SNIFFED_BYTES = 1 << 20

Record = dict[str, Any]


def records(file: SourceFile, places: Collection[str], *, every: bool = False) -> Iterator[Any]:
    """Yield the records of a list in a JSON file, or of each line of JSON Lines.

    `places`: dotted paths at which the list may be, ROOT for the file itself; the first that the file has is read, or
    every one.
    A damaged line of JSON Lines is yielded as the string it is, so that it is left out by name.
    Raises SourceError if the file is not JSON, ends in the middle or holds no such list.
    """
    if file.size == 0:
        raise SourceError(f"{file.name} is empty.")
    if file.name.lower().endswith(_LINES_SUFFIXES) or _looks_like_lines(file, places):
        yield from _line_records(file)
        return
    for place in _find_lists(file, places):
        with file.open() as stream:
            yield from _parsed(file, ijson.items(stream, f"{place}.item".lstrip("."), use_float=True))
        if not every:
            return


def value_at(file: SourceFile, place: str) -> Any:
    """Return the first value at a dotted path, without reading on; None if there is none before the end or a damage."""
    with file.open() as stream:
        return next(iter(IntactRecords(_parsed(file, ijson.items(stream, place, use_float=True)))), None)


def _find_lists(file: SourceFile, places: Collection[str]) -> Iterator[str]:
    found = False
    with file.open() as stream:
        for place, event, _ in _parsed(file, ijson.parse(stream)):
            if event == "start_array" and place in places:
                found = True
                yield str(place)
    if found:
        return
    wanted = " or ".join(repr(place) for place in places if place != ROOT)
    raise SourceError(f"{file.name} holds no list{f' {wanted}' if wanted else ''}: it is in another format.")


def _parsed(file: SourceFile, events: Iterator[Any]) -> Iterator[Any]:
    count = 0
    try:
        for event in events:
            count += 1
            yield event
    except (ijson.JSONError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise SourceError(
            f"{file.name} is damaged, or ends in the middle, after {count:,} records: {reason}. Export it again."
        ) from error


def _looks_like_lines(file: SourceFile, places: Collection[str]) -> bool:
    """Return whether the first line is a record by itself, and no file with a list in it."""
    with file.open() as stream:
        line = stream.readline(_SNIFFED_BYTES)
        has_more = bool(stream.read(1))
    try:
        first = json.loads(line)
    except ValueError:
        return False
    return has_more and isinstance(first, dict) and not {place.partition(".")[0] for place in places} & first.keys()


def _line_records(file: SourceFile) -> Iterator[Any]:
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            yield f"line {number:,} of {file.name}, which is no JSON: {line}"


class IntactRecords:
    """Records up to the damage of a file, for readers that gather several records before they yield a document."""

    def __init__(self, records: Iterator[Any]) -> None:
        self._records = records
        self._damage: SourceError | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._records
        except SourceError as damage:
            self._damage = damage

    def raise_damage(self) -> None:
        """Raise the error at which the records ended, if one did."""
        if self._damage is not None:
            raise self._damage
