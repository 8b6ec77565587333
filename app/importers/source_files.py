"""Files of an export: itself, in a folder or in a zip archive, opened as streams."""

import codecs
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from app.importers.imported_item import LeftOut, Read, SourceError
from pipeline.parsing.archive_files import is_content

_ENCRYPTED = 0x1
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError, UnicodeDecodeError)
"""What a damaged archive raises, the last for the name of a file."""
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of an export; `name`: its path inside the export, with slashes."""

    name: str
    open: Callable[[], IO[bytes]]
    size: int

    def lines(self) -> Iterator[str]:
        """Yield lines of UTF-8 text without their ends."""
        with self.open() as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace") as text:
            for line in text:
                yield line.rstrip("\r\n")


def choose(files: Sequence[SourceFile], suffixes: tuple[str, ...], missing: str) -> list[SourceFile]:
    """Return the files whose names have one of these ends; SourceError with `missing` if there is none."""
    chosen = [file for file in files if file.name.lower().endswith(suffixes)]
    if not chosen:
        raise SourceError(missing)
    return chosen


def each_file(files: Sequence[SourceFile], read: Callable[[SourceFile], Read]) -> Read:
    """Yield what files hold; SourceError if the only one is damaged, which does not keep others out."""
    for file in files:
        try:
            yield from read(file)
        except SourceError as error:
            if len(files) == 1:
                raise
            yield LeftOut(file.name, f"the rest of the file can't be read: {error}")


def decode_text(content: bytes) -> str:
    """Decode a text in UTF-8, in UTF-16 with its mark, or in the encoding of Windows' western languages."""
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def leads_outside(path: Path, folder: Path) -> bool:
    """Return whether a path in a folder is a link out of it, by which somebody's folder could name any file here."""
    return not path.resolve().is_relative_to(folder.resolve())


@contextmanager
def source_files(source: Path) -> Iterator[list[SourceFile]]:
    """List the files of a folder or zip archive, or the file itself, by name."""
    if source.is_dir():
        paths = sorted(path for path in source.rglob("*") if path.is_file())
        for path in paths:
            if leads_outside(path, source):
                raise SourceError(
                    f"{path} is a link to a file outside of the folder. Copy the file, or remove the link."
                )
        yield [_file(path, path.relative_to(source).as_posix()) for path in paths]
    elif zipfile.is_zipfile(source):
        with _open_zip(source) as archive:
            entries = sorted(archive.infolist(), key=lambda entry: entry.filename)
            yield [_member(archive, entry) for entry in entries if is_content(entry.filename)]
    elif source.suffix.lower() == ".zip":
        raise SourceError(f"{source} is not a zip archive, or a part of it is missing. Download the export again.")
    else:
        yield [_file(source, source.name)]


def _file(path: Path, name: str) -> SourceFile:
    return SourceFile(name, lambda: _after_mark(path.open("rb")), path.stat().st_size)


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SourceFile:
    if entry.flag_bits & _ENCRYPTED:
        raise SourceError(f"{archive.filename} is protected by a password. Unpack it and give the folder.")
    return SourceFile(entry.filename, lambda: _after_mark(archive.open(entry)), entry.file_size)


def _after_mark(stream: IO[bytes]) -> IO[bytes]:
    """Skip the byte order mark that some editors write before UTF-8, which no reader of JSON takes."""
    if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        stream.seek(0)
    return stream


@contextmanager
def _open_zip(source: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except _DAMAGE as error:
        raise SourceError(f"{source} can't be unpacked: {error}. Download the export again.") from error
