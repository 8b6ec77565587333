"""Arrays in memory-mapped files, which the operating system pages in and out."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import OutageError
from pipeline.index.segments.array_file import array_places, from_arrays, map_file, mapped_array, to_arrays

Arrays = TypeVar("Arrays")


@dataclass(frozen=True, slots=True)
class MmapStore:
    """A folder of anonymous files; each disappears with its last mapping."""

    folder: Path

    def spill(self, arrays: Arrays) -> Arrays:
        """Copy a dataclass of arrays and string columns into one file, and map it.

        Raises OutageError when the folder cannot be written. Empty arrays stay as they are.
        """
        try:
            return from_arrays(type(arrays), self._write_and_map(to_arrays(arrays)))
        except OSError as error:
            message = f"A large namespace can't be mapped from files in {self.folder}: {error}"
            raise OutageError(message) from error

    def _write_and_map(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        self.folder.mkdir(parents=True, exist_ok=True)
        places = array_places(arrays)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            for name, array in arrays.items():
                file.seek(places[name])
                file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
            if not file.tell():
                return arrays
            file.flush()
            whole = map_file(file, random=True)
        return {name: mapped_array(whole, array.dtype, array.shape, places[name]) for name, array in arrays.items()}
