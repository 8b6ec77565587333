"""Files of a ZIP archive within limits: count, size, and archives inside archives."""

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath

MAX_FILES = 200
MAX_UNPACKED_BYTES = 100 * 1024 * 1024
MAX_NESTING = 2
"""Archives inside the archive that is sent; deeper ones are not opened."""
_SYSTEM_FOLDERS = frozenset({"__MACOSX"})
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive; `problem`: why it has no data."""

    name: str
    data: bytes = b""
    problem: str | None = None


def read_archive(data: bytes, room: int | None = None) -> Iterator[ArchiveFile]:
    """Unpack one file after the other; those beyond a limit are named with the reason.

    Folders, hidden files and those that systems add are passed over. `room`: bytes that may still be unpacked.
    """
    room = MAX_UNPACKED_BYTES if room is None else room
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
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        EOFError,
        OSError,
        ValueError,
    ) as error:
        return ArchiveFile(entry.filename, problem=f"damaged: {error}")
    if len(data) > room:
        return ArchiveFile(entry.filename, problem=f"the archive unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB")
    return ArchiveFile(entry.filename, data)


def is_content(name: str) -> bool:
    """Return whether a member is a file that somebody put in, neither hidden nor added by a system."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return bool(parts) and not any(part.startswith(".") or part in _SYSTEM_FOLDERS for part in parts)
