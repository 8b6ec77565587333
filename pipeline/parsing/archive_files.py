"""Files of an archive within limits of count and size: ZIP, TAR, one compressed file, or a folder of mails."""

import bz2
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from io import BytesIO
from pathlib import PurePosixPath
from typing import Final, Protocol

MAX_FILES = 200
MAX_UNPACKED_BYTES = 100 * 1024 * 1024
MAX_NESTING = 2
"""Archives inside the archive that is sent; deeper ones are not opened."""
DAMAGED: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    EOFError,
    OSError,
    ValueError,
)
"""Errors of the libraries for damaged archives."""
_SYSTEM_FOLDERS = frozenset({"__MACOSX"})
_ENCRYPTED = 0x1
_COMPRESSIONS: "Final[dict[bytes, Callable[[BytesIO], _Source]]]" = {
    b"\x1f\x8b": lambda data: gzip.GzipFile(fileobj=data),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_TAR_MARK_AT, _TAR_MARK = 257, b"ustar"
_MAIL_START = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n)|(?<=\n\r\n))From [^\r\n]*\r?\n(?=[!-9;-~]+:)")
"""The line before each mail of a folder (mbox, RFC 4155), which a header follows."""
_QUOTED_START = re.compile(rb"^>(>*From )", re.MULTILINE)
_MAIL_SAMPLE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive; `problem`: why it has no data."""

    name: str
    data: bytes = b""
    problem: str | None = None
    mime_type: str | None = None


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _TooLargeError(Exception):
    """More is unpacked than there is room for."""


@dataclass(slots=True)
class _BoundedReader:
    """The unpacked bytes of a source, up to those that there is room for."""

    source: _Source
    room: int

    def read(self, size: int) -> bytes:
        data = self.source.read(min(size, self.room + 1))
        self.room -= len(data)
        if self.room < 0:
            raise _TooLargeError
        return data


def is_archive(data: bytes) -> bool:
    """Return whether the bytes begin as an archive other than ZIP does; two mails and more make a folder."""
    return data.startswith(tuple(_COMPRESSIONS)) or _is_tar(data) or _is_mail_folder(data)


def read_archive(data: bytes, name: str | None, room: int | None = None) -> Iterator[ArchiveFile]:
    """Unpack one file after the other; those beyond a limit are named with the reason.

    Folders, links, hidden files and those that systems add are passed over. `name`: of the archive, `room`: bytes that
    may still be unpacked. One of DAMAGED if nothing can be read.
    """
    room = MAX_UNPACKED_BYTES if room is None else room
    if _is_mail_folder(data):
        return _read_mails(data)
    if _is_tar(data):
        return _read_tar(BytesIO(data), room)
    for mark, unpack in _COMPRESSIONS.items():
        if data.startswith(mark):
            return _read_compressed(unpack, data, PurePosixPath(name or "file"), room)
    return _read_zip(data, room)


def _read_zip(data: bytes, room: int) -> Iterator[ArchiveFile]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries = [entry for entry in archive.infolist() if is_content(entry.filename) and not entry.is_dir()]
        for number, entry in enumerate(entries):
            if number >= MAX_FILES:
                yield ArchiveFile(f"{len(entries) - MAX_FILES:,} more files", problem=f"more than {MAX_FILES}")
                return
            file = _unpack(archive, entry, room)
            room -= len(file.data)
            yield file


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> ArchiveFile:
    if entry.flag_bits & _ENCRYPTED:
        return ArchiveFile(entry.filename, problem="protected by a password")
    try:
        with archive.open(entry) as member:
            # The size that the archive declares may be false, so that one byte more than there is room for is read.
            data = member.read(room + 1)
    except DAMAGED as error:
        return ArchiveFile(entry.filename, problem=f"damaged: {error}")
    if len(data) > room:
        return ArchiveFile(entry.filename, problem=_too_large())
    return ArchiveFile(entry.filename, data)


def _read_compressed(
    unpack: Callable[[BytesIO], _Source], data: bytes, name: PurePosixPath, room: int
) -> Iterator[ArchiveFile]:
    """Read a TAR inside, or the one file, whose name is that of the archive without its last extension."""
    if _is_tar(unpack(BytesIO(data)).read(tarfile.BLOCKSIZE)):
        yield from _read_tar(unpack(BytesIO(data)), room)
        return
    content = unpack(BytesIO(data)).read(room + 1)
    too_large = len(content) > room
    yield ArchiveFile(name.stem, b"" if too_large else content, _too_large() if too_large else None)


def _read_tar(source: _Source, room: int) -> Iterator[ArchiveFile]:
    """Read the files of a TAR in one pass, so that no more than there is room for is ever unpacked."""
    number = 0
    try:
        with tarfile.open(fileobj=_BoundedReader(source, room), mode="r|") as archive:  # type: ignore[call-overload]  # it reads only
            for entry in archive:
                if not entry.isfile() or not is_content(entry.name):
                    continue
                number += 1
                if number > MAX_FILES:
                    yield ArchiveFile("more files", problem=f"more than {MAX_FILES}")
                    return
                member = archive.extractfile(entry)
                yield ArchiveFile(entry.name.removeprefix("./"), member.read() if member else b"")
    except _TooLargeError:
        yield ArchiveFile("more files", problem=_too_large())
    except DAMAGED as error:
        if not number:
            raise
        yield ArchiveFile("more files", problem=f"damaged: {error}")


def _read_mails(data: bytes) -> Iterator[ArchiveFile]:
    """Split a folder into its mails, each under its subject."""
    from pipeline.parsing.mail.mail_text import decode_header_value  # noqa: PLC0415 - only mails need it

    starts = list(_MAIL_START.finditer(data))
    for number, start in enumerate(starts[:MAX_FILES]):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(data)
        mail = _QUOTED_START.sub(rb"\1", data[start.end() : end])
        subject = decode_header_value(str(BytesHeaderParser().parsebytes(mail).get("subject") or ""))
        yield ArchiveFile(subject or f"Mail {number + 1}", mail, mime_type="message/rfc822")
    if len(starts) > MAX_FILES:
        yield ArchiveFile(f"{len(starts) - MAX_FILES:,} more mails", problem=f"more than {MAX_FILES}")


def _is_tar(data: bytes) -> bool:
    return data[_TAR_MARK_AT : _TAR_MARK_AT + len(_TAR_MARK)] == _TAR_MARK


def _is_mail_folder(data: bytes) -> bool:
    found = _MAIL_START.finditer(data[:_MAIL_SAMPLE_BYTES]) if data.startswith(b"From ") else iter(())
    return next(found, None) is not None and next(found, None) is not None


def _too_large() -> str:
    return f"the archive unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB"


def is_content(name: str) -> bool:
    """Return whether a member is a file that somebody put in, neither hidden nor added by a system."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return bool(parts) and not any(part.startswith(".") or part in _SYSTEM_FOLDERS for part in parts)
