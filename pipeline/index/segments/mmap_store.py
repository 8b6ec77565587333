"""Arrays in memory-mapped files, which the operating system pages in and out."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pipeline.errors import OutageError
from pipeline.index.segments.array_file import AnyArray, map_arrays, put_together, take_apart, write_arrays

Arrays = TypeVar("Arrays")


@dataclass(frozen=True, slots=True)
class MmapStore:
    """A folder of anonymous files; each disappears with its last mapping."""

    folder: Path

    def spill(self, value: Arrays) -> Arrays:
        """Copy a dataclass of arrays and string columns into one file, and map it.

        Raises OutageError when the folder cannot be written.
        """
        arrays: list[AnyArray] = []
        structure = take_apart(value, arrays)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder) as file:
                entries = write_arrays(file, arrays)
                file.flush()
                mapped = map_arrays(file, entries, random=True)
        except OSError as error:
            message = f"A large namespace can't be mapped from files in {self.folder}: {error}"
            raise OutageError(message) from error
        spilled: Arrays = put_together(structure, mapped, {type(value).__name__: type(value)})
        return spilled
