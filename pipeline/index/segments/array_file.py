"""Values made of dataclasses, arrays and string columns, taken apart into arrays that lie in a mapped file.

Arrays follow one another in a file, each padded with zeros to a multiple of 64 bytes and summed up with its padding.
"""

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import StringColumn

AnyArray = NDArray[Any]
ArrayEntry = tuple[str, Sequence[int], int]
"""Type, shape and sum of an array in a file."""
BLOCK_BYTES = 1 << 20
_ALIGNMENT_BYTES = 64


def take_apart(value: object, arrays: list[AnyArray]) -> Any:
    """Append the arrays that a value is made of; return how, as JSON, for `put_together`."""
    match value:
        case None | int():
            return value
        case np.ndarray():
            arrays.append(value)
            return {"array": len(arrays) - 1}
        case StringColumn():
            first, last = int(value.offsets[0]), int(value.offsets[-1])
            parts = (np.frombuffer(value.data[first:last], np.uint8), value.offsets - first)
            return {"strings": [take_apart(part, arrays) for part in parts]}
        case list():
            return [take_apart(part, arrays) for part in value]
    parts_by_name = {
        field.name: take_apart(getattr(value, field.name), arrays)
        for field in fields(value)  # type: ignore[arg-type]  # a dataclass, which no pattern can say
    }
    return {"kind": type(value).__name__, "parts": parts_by_name}


def put_together(structure: Any, arrays: Sequence[AnyArray], kinds: Mapping[str, type]) -> Any:
    """Return the value again; `kinds`: its dataclasses by name. KeyError for others."""
    match structure:
        case {"array": number}:
            return arrays[number]
        case {"strings": parts}:
            data, offsets = (put_together(part, arrays, kinds) for part in parts)
            return StringColumn(data.data, offsets)
        case {"kind": kind, "parts": parts}:
            return kinds[kind](**{name: put_together(part, arrays, kinds) for name, part in parts.items()})
        case list():
            return [put_together(part, arrays, kinds) for part in structure]
    return structure


def write_arrays(
    file: IO[bytes], arrays: Sequence[AnyArray], after_block: Callable[[], None] = lambda: None
) -> list[ArrayEntry]:
    """Write arrays one after another; `after_block` is called after each megabyte, to let others work."""
    entries = list[ArrayEntry]()
    for array in arrays:
        data, total = np.ascontiguousarray(array).reshape(-1).view(np.uint8), 0
        for start in range(0, len(data), BLOCK_BYTES):
            block = data[start : start + BLOCK_BYTES]
            block = np.pad(block, (0, -len(block) % _ALIGNMENT_BYTES))
            file.write(block.data)
            total += sum_of(block)
            after_block()
        entries.append((array.dtype.str, array.shape, total))
    return entries


def map_arrays(file: IO[bytes], entries: Sequence[ArrayEntry], *, random: bool) -> list[AnyArray]:
    """Map the arrays of a file, unverified. `random`: without read-ahead, which fills memory with unused neighbors."""
    if not any(map(padded_bytes, entries)):
        return [np.zeros(shape, kind) for kind, shape, _ in entries]
    whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if random:
        whole.madvise(mmap.MADV_RANDOM)
    arrays, place = list[AnyArray](), 0
    for kind, shape, _ in entries:
        size = int(np.prod(shape))
        arrays.append(np.frombuffer(whole, kind, size, place).reshape(shape) if size else np.zeros(shape, kind))
        place += padded_bytes((kind, shape, 0))
    return arrays


def padded_bytes(entry: ArrayEntry) -> int:
    kind, shape, _ = entry
    size = np.dtype(kind).itemsize * int(np.prod(shape))
    return size + -size % _ALIGNMENT_BYTES


def sum_of(block: NDArray[np.uint8]) -> int:
    """Sum of the 64-bit words of a block: as quick as memory, which a CRC is not."""
    return int(block.view(np.uint64).sum(dtype=np.uint64))
