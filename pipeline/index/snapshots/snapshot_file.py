"""Snapshot file: a header in JSON, arrays that are mapped, and checksums of both.

Layout: magic number, length and CRC of the header, the header, arrays aligned to 64 bytes from a multiple of a
block on, then a 64-bit sum of each block and the CRC of the sums. Sums are as quick as memory; CRCs are not.
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

FORMAT = 1
"""Changes with every change of what a snapshot holds; files of other formats are discarded."""
_MAGIC = b"recollect index\n"
_PREFIX = struct.Struct("<16sQI")
_BLOCK_BYTES = 1 << 20
_MAX_HEADER_BYTES = 64 << 20


class DamagedSnapshotError(Exception):
    """The file is not a whole snapshot of this format."""


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """The description of a snapshot, and where its arrays lie."""

    description: Mapping[str, Any]
    arrays: Mapping[str, tuple[str, tuple[int, ...], int]]
    """Type, shape and place of each array."""
    start: int
    end: int
    """Bounds of the arrays: multiples of a block."""


def write_snapshot(
    file: IO[bytes], description: Mapping[str, Any], arrays: NamedArrays, after_block: Callable[[], None]
) -> None:
    """Write a snapshot; `after_block` is called after each megabyte, to let others work."""
    start = _BLOCK_BYTES
    while True:
        places = array_places(arrays, start)
        entries = {name: (array.dtype.str, array.shape, places[name]) for name, array in arrays.items()}
        end = max((places[name] + array.nbytes for name, array in arrays.items()), default=start)
        end += -end % _BLOCK_BYTES
        header = json.dumps([FORMAT, description, entries, start, end]).encode()
        if _PREFIX.size + len(header) <= start:
            break
        start += _BLOCK_BYTES
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
            self._begin_block(self._place)
            at = (self._place - self._start) % _BLOCK_BYTES
            part, data = data[: _BLOCK_BYTES - at], data[_BLOCK_BYTES - at :]
            self._block[at : at + len(part)] = part
            self._place += len(part)

    def finish(self, end: int) -> None:
        self._begin_block(end)
        sums = np.array(self._sums, np.uint64).tobytes()
        self._file.write(sums + struct.pack("<I", crc32(sums)))

    def _begin_block(self, place: int) -> None:
        while len(self._sums) < (place - self._start) // _BLOCK_BYTES:
            self._sums.append(int(_sums(self._block)[0]))
            self._file.write(self._block.data)
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
        count = (header.end - header.start) // _BLOCK_BYTES
        file.seek(header.end)
        stored = file.read(8 * count)
        (checksum,) = struct.unpack("<I", file.read(4).ljust(4, b"\0"))
        if len(stored) < 8 * count or crc32(stored) != checksum:
            raise DamagedSnapshotError("its checksums are damaged")
        file.seek(header.start)
        for number, expected in enumerate(np.frombuffer(stored, np.uint64).tolist()):
            block = file.read(_BLOCK_BYTES)
            if len(block) < _BLOCK_BYTES or int(_sums(np.frombuffer(block, np.uint8))[0]) != expected:
                raise DamagedSnapshotError(f"block {number} is damaged")
            after_block()


def _sums(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    sums: NDArray[np.uint64] = data.view(np.uint64).reshape(-1, _BLOCK_BYTES // 8).sum(axis=1, dtype=np.uint64)
    return sums
