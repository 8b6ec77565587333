"""Arrays and string columns of dataclasses, one after another in a file that is mapped."""

import mmap
from collections.abc import Mapping
from dataclasses import fields
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import StringColumn

Arrays = TypeVar("Arrays")
NamedArrays = Mapping[str, NDArray[Any]]
_ALIGNMENT_BYTES = 64


def to_arrays(columns: object) -> dict[str, NDArray[Any]]:
    """The arrays of a dataclass by name, those of a string column by two; None is left out."""
    parts: dict[str, NDArray[Any]] = {}
    for field in fields(columns):  # type: ignore[arg-type]  # a dataclass, which no bound can say
        value = getattr(columns, field.name)
        if isinstance(value, StringColumn):
            first, last = int(value.offsets[0]), int(value.offsets[-1])
            parts[f"{field.name}.data"] = np.frombuffer(value.data[first:last], np.uint8)
            parts[f"{field.name}.offsets"] = value.offsets - first
        elif value is not None:
            parts[field.name] = value
    return parts


def from_arrays(kind: type[Arrays], arrays: NamedArrays) -> Arrays:
    """The dataclass of these arrays, the inverse of `to_arrays`."""
    values = {
        field.name: StringColumn(arrays[f"{field.name}.data"].data, arrays[f"{field.name}.offsets"])
        if f"{field.name}.data" in arrays
        else arrays.get(field.name)
        for field in fields(kind)  # type: ignore[arg-type]  # as above
    }
    return kind(**values)


def array_places(arrays: NamedArrays, start: int = 0) -> dict[str, int]:
    """The aligned place of each array in a file, the first at `start` or after it."""
    places: dict[str, int] = {}
    for name, array in arrays.items():
        start += -start % _ALIGNMENT_BYTES
        places[name] = start
        start += array.nbytes
    return places


def map_file(file: IO[bytes], *, random: bool) -> mmap.mmap:
    """Map a file that is not empty. `random`: without read-ahead, which fills memory with unused neighbors."""
    whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if random:
        whole.madvise(mmap.MADV_RANDOM)
    return whole


def mapped_array(whole: mmap.mmap, kind: np.dtype[Any], shape: tuple[int, ...], place: int) -> NDArray[Any]:
    """An array that lies in a mapped file."""
    size = int(np.prod(shape))
    return np.frombuffer(whole, kind, size, place).reshape(shape) if size else np.zeros(shape, kind)
