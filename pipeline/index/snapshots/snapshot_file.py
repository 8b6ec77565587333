"""Snapshot file: arrays that are mapped, then what they are of in JSON, and checksums of both.

Layout: the arrays (`pipeline.index.segments.array_file`), the footer, and its length, its CRC and a magic number.
"""

import json
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import numpy as np

from pipeline.index.segments.array_file import (
    BLOCK_BYTES,
    AnyArray,
    ArrayEntry,
    padded_bytes,
    sum_of,
    write_arrays,
)

FORMAT = 3
"""Changes with every change of what a snapshot holds; files of other formats are discarded."""
_MAGIC = b"recollect index\n"
_END = struct.Struct("<QI16s")


class DamagedSnapshotError(Exception):
    """The file is not a whole snapshot of this format."""


@dataclass(frozen=True, slots=True)
class SnapshotFooter:
    description: Mapping[str, Any]
    entries: Sequence[ArrayEntry]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(map(padded_bytes, self.entries))


def write_snapshot(
    file: IO[bytes], description: Mapping[str, Any], arrays: Sequence[AnyArray], after_block: Callable[[], None]
) -> None:
    """Write a snapshot; `after_block` is called after each megabyte, to let others work."""
    footer = json.dumps([FORMAT, description, write_arrays(file, arrays, after_block)]).encode()
    file.write(footer + _END.pack(len(footer), crc32(footer), _MAGIC))


def read_footer(file: IO[bytes]) -> SnapshotFooter:
    """Read the footer. Raises DamagedSnapshotError."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _END.size, 0))
    end = file.read()
    if len(end) < _END.size:
        raise DamagedSnapshotError("it is cut off")
    length, checksum, magic = _END.unpack(end)
    if magic != _MAGIC or length > size - _END.size:
        raise DamagedSnapshotError("it is not a snapshot")
    file.seek(size - _END.size - length)
    text = file.read(length)
    if crc32(text) != checksum:
        raise DamagedSnapshotError("its footer is damaged")
    format_, description, entries = json.loads(text)
    if format_ != FORMAT:
        raise DamagedSnapshotError(f"its format is {format_}")
    footer = SnapshotFooter(description, entries)
    if footer.nbytes != size - _END.size - length:
        raise DamagedSnapshotError("it is cut off")
    return footer


def verify_arrays(path: Path, after_block: Callable[[], None] = lambda: None) -> None:
    """Read the whole file and compare its sums. Raises DamagedSnapshotError, OSError."""
    with path.open("rb") as file:
        entries = read_footer(file).entries
        file.seek(0)
        for number, entry in enumerate(entries):
            left, total = padded_bytes(entry), 0
            while left:
                block = file.read(min(BLOCK_BYTES, left))
                if not block:
                    raise DamagedSnapshotError("it is cut off")
                total += sum_of(np.frombuffer(block, np.uint8))
                left -= len(block)
                after_block()
            if total != entry[2]:
                raise DamagedSnapshotError(f"array {number} is damaged")
