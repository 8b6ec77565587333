"""Arrays in memory-mapped files, which the operating system pages in and out."""

import mmap
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import OutageError
from pipeline.rows import StringColumn

Arrays = TypeVar("Arrays")
_ALIGNMENT_BYTES = 64


@dataclass(frozen=True, slots=True)
class MmapStore:
    """A folder of anonymous files; each disappears with its last mapping."""

    folder: Path

    def spill(self, arrays: Arrays) -> Arrays:
        """Copy a dataclass of arrays and string columns into one file, and map it.

        Raises OutageError when the folder cannot be written. Empty arrays stay as they are.
        """
        parts: dict[str, NDArray[Any]] = {}
        for field_ in fields(arrays):  # type: ignore[arg-type]  # a dataclass, which no bound can say
            value = getattr(arrays, field_.name)
            if isinstance(value, StringColumn):
                parts[f"{field_.name}.data"] = np.frombuffer(value.data, np.uint8)
                parts[f"{field_.name}.offsets"] = value.offsets
            else:
                parts[field_.name] = value
        try:
            mapped = self._write_and_map(parts)
        except OSError as error:
            message = f"A large namespace can't be mapped from files in {self.folder}: {error}"
            raise OutageError(message) from error
        changed = {
            field_.name: StringColumn(mapped[f"{field_.name}.data"].data, mapped[f"{field_.name}.offsets"])
            if f"{field_.name}.data" in mapped
            else mapped[field_.name]
            for field_ in fields(arrays)  # type: ignore[arg-type]  # as above
        }
        return replace(arrays, **changed)  # type: ignore[type-var]  # as above

    def _write_and_map(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            places: dict[str, int] = {}
            for name, array in arrays.items():
                file.seek(-file.tell() % _ALIGNMENT_BYTES, 1)
                places[name] = file.tell()
                file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
            if not file.tell():
                return arrays
            file.flush()
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # Access is random; read-ahead would fill memory with unused neighbors.
        whole.madvise(mmap.MADV_RANDOM)
        return {
            name: np.frombuffer(whole, array.dtype, array.size, places[name]).reshape(array.shape)
            if array.size
            else array
            for name, array in arrays.items()
        }
