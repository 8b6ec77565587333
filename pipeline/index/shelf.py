"""Arrays in files that are mapped: the system keeps in memory what is used, and drops it when it must."""

import mmap
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import OutageError
from pipeline.rows import Texts

Arrays = TypeVar("Arrays")
_ALIGNED = 64


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder for what is too large to be held. Its files have no names: they go with who maps them."""

    folder: Path

    def put(self, arrays: Arrays) -> Arrays:
        """A dataclass of arrays and texts, the same but mapped from one file.

        OutageError where the folder can't be written. What is empty stays as it is.
        """
        parts: dict[str, NDArray[Any]] = {}
        for one in fields(arrays):  # type: ignore[arg-type]  # a dataclass, which no bound can say
            value = getattr(arrays, one.name)
            if isinstance(value, Texts):
                parts[f"{one.name}.data"] = np.frombuffer(value.data, np.uint8)
                parts[f"{one.name}.offsets"] = value.offsets
            else:
                parts[one.name] = value
        try:
            mapped = self._mapped(parts)
        except OSError as error:
            message = f"A large namespace can't be mapped from files in {self.folder}: {error}"
            raise OutageError(message) from error
        changed = {
            one.name: Texts(mapped[f"{one.name}.data"].data, mapped[f"{one.name}.offsets"])
            if f"{one.name}.data" in mapped
            else mapped[one.name]
            for one in fields(arrays)  # type: ignore[arg-type]  # as above
        }
        return replace(arrays, **changed)  # type: ignore[type-var]  # as above

    def _mapped(self, parts: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            places: dict[str, int] = {}
            for name, array in parts.items():
                file.seek(-file.tell() % _ALIGNED, 1)
                places[name] = file.tell()
                file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
            if not file.tell():
                return parts
            file.flush()
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # Rows are looked at here and there; reading ahead would fill memory with their neighbours.
        whole.madvise(mmap.MADV_RANDOM)
        return {
            name: np.frombuffer(whole, array.dtype, array.size, places[name]).reshape(array.shape)
            if array.size
            else array
            for name, array in parts.items()
        }
