"""Snapshot file: a header in JSON, arrays that are mapped, and checksums of both.

Layout: magic number, length and CRC of the header, the header, arrays aligned to 64 bytes from the start of a page on,
then a 64-bit sum of each block of the arrays and the CRC of the sums. Sums are as quick as memory; CRCs are not.
"""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pipeline.index.segments.array_file import NamedArrays, array_places, map_file, mapped_array

FORMAT = 2
"""Changes with every change of what a snapshot holds; files of other formats are discarded."""
_MAGIC = b"recollect index\n"
_PREFIX = struct.Struct("<16sQI")
_PAGE_BYTES = 4096
_BLOCK_BYTES = 1 << 20
_ALIGNMENT_BYTES = 64
_MAX_HEADER_BYTES = 64 << 20


class DamagedSnapshotError(Exception):
    """The file is not a whole snapshot of this format."""


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    description: Mapping[str, Any]
    arrays: Mapping[str, tuple[str, tuple[int, ...], int]]
    """Type, shape and place of each array."""
    start: int
    end: int
    """Bounds of the arrays."""


def write_snapshot(
    file: IO[bytes], description: Mapping[str, Any], arrays: NamedArrays, after_block: Callable[[], None]
) -> None:
    """Write a snapshot; `after_block` is called after each megabyte, to let others work."""
    start = _PAGE_BYTES
    while True:
        places = array_places(arrays, start)
        entries = {name: (array.dtype.str, array.shape, places[name]) for name, array in arrays.items()}
        end = max((places[name] + array.nbytes for name, array in arrays.items()), default=start)
        end += -end % _ALIGNMENT_BYTES
        header = json.dumps([FORMAT, description, entries, start, end]).encode()
        if (size := _PREFIX.size + len(header)) <= start:
            break
        start = size + _PAGE_BYTES - size % _PAGE_BYTES
    file.write(_PREFIX.pack(_MAGIC, len(header), crc32(header)) + header)
    writer = _BlockWriter(file, start, after_block)
    for name, array in arrays.items():
        writer.write_at(places[name], np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    writer.finish(end)


class _BlockWriter:
    def __init__(self, file: IO[bytes], start: int, after_block: Callable[[], None]) -> None:
        self._file, self._start, self._after_block = file, start, after_block
        self._block = np.zeros(_BLOCK_BYTES, np.uint8)
        self._place = start
        self._sums: list[int] = []
        file.seek(start)

    def write_at(self, place: int, data: NDArray[np.uint8]) -> None:
        """Write from a place on that is not before the last one's end; zeros in between."""
        self._place = place
        while len(data):
            self._end_blocks_before(self._place)
            at = (self._place - self._start) % _BLOCK_BYTES
            part, data = data[: _BLOCK_BYTES - at], data[_BLOCK_BYTES - at :]
            self._block[at : at + len(part)] = part
            self._place += len(part)

    def finish(self, end: int) -> None:
        self._end_blocks_before(end)
        if size := (end - self._start) % _BLOCK_BYTES:
            self._end_block(size)
        sums = np.array(self._sums, np.uint64).tobytes()
        self._file.write(sums + struct.pack("<I", crc32(sums)))

    def _end_blocks_before(self, place: int) -> None:
        while len(self._sums) < (place - self._start) // _BLOCK_BYTES:
            self._end_block(_BLOCK_BYTES)

    def _end_block(self, size: int) -> None:
        self._sums.append(_sum(self._block))
        self._file.write(self._block[:size].data)
        self._block[:] = 0
        self._after_block()


def read_header(file: IO[bytes]) -> SnapshotHeader:
    """Read the header. Raises DamagedSnapshotError."""
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        raise DamagedSnapshotError("it is cut off")
    magic, length, checksum = _PREFIX.unpack(prefix)
    if magic != _MAGIC or length > _MAX_HEADER_BYTES:
        raise DamagedSnapshotError("it is not a snapshot")
    text = file.read(length)
    if crc32(text) != checksum:
        raise DamagedSnapshotError("its header is damaged")
    format_, *values = json.loads(text)
    if format_ != FORMAT:
        raise DamagedSnapshotError(f"its format is {format_}")
    description, arrays, start, end = values
    return SnapshotHeader(
        description, {name: (kind, tuple(shape), place) for name, (kind, shape, place) in arrays.items()}, start, end
    )


def map_arrays(file: IO[bytes], header: SnapshotHeader, *, random: bool) -> dict[str, NDArray[Any]]:
    """Map the arrays; they are not verified."""
    whole = map_file(file, random=random)
    if len(whole) < header.end:
        raise DamagedSnapshotError("it is cut off")
    return {
        name: mapped_array(whole, np.dtype(kind), shape, place) for name, (kind, shape, place) in header.arrays.items()
    }


def verify_arrays(path: Path, after_block: Callable[[], None] = lambda: None) -> None:
    """Read the whole file and compare its sums. Raises DamagedSnapshotError, OSError."""
    with path.open("rb") as file:
        header = read_header(file)
        count = -(-(header.end - header.start) // _BLOCK_BYTES)
        file.seek(header.end)
        stored = file.read(8 * count)
        (checksum,) = struct.unpack("<I", file.read(4).ljust(4, b"\0"))
        if len(stored) < 8 * count or crc32(stored) != checksum:
            raise DamagedSnapshotError("its checksums are damaged")
        file.seek(header.start)
        for number, expected in enumerate(np.frombuffer(stored, np.uint64).tolist()):
            size = min(_BLOCK_BYTES, header.end - file.tell())
            block = file.read(size)
            if len(block) < size or _sum(np.frombuffer(block, np.uint8)) != expected:
                raise DamagedSnapshotError(f"block {number} is damaged")
            after_block()


def _sum(data: NDArray[np.uint8]) -> int:
    return int(data.view(np.uint64).sum(dtype=np.uint64))
