"""Small values in files, and the folders beside them, in a folder or an object store. Synchronous."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import lock_descriptor

from pipeline.errors import OutageError
from pipeline.ports import NamedFiles
from pipeline.runtime.durable_files import TEMPORARY_SUFFIX, fsync, write_durably

_LOCK_NAME = "lock"


class FolderFiles:
    """Files that only their owner may read, and folders. A file is updated under a lock of the whole folder.

    `holds`: what is kept here, for messages. `apart`: folders that do not lie in this one, by their name.
    """

    def __init__(self, folder: Path, holds: str, apart: Mapping[str, Path] | None = None) -> None:
        self._folder = folder.absolute()
        self._holds = holds
        self._apart = apart or {}

    def read(self, name: str) -> bytes | None:
        with self._errors_as_outages():
            try:
                return self._path(name).read_bytes()
            except FileNotFoundError:
                return None

    def write(self, name: str, value: bytes) -> None:
        with self._errors_as_outages():
            path = self._path(name)
            if not path.parent.exists():
                path.parent.mkdir(mode=0o700, parents=True)
                fsync(path.parent.parent)
            write_durably(path, value)  # a temporary file that is renamed: readable for its owner only

    def create(self, name: str, value: bytes) -> bool:
        with self._locked():
            if self._path(name).exists():
                return False
            self.write(name, value)
            return True

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        with self._locked():
            self.write(name, change(self.read(name)))

    def delete(self, name: str) -> None:
        with self._locked():
            path = self._path(name)
            if path.exists():
                path.unlink()
                fsync(path.parent)

    def names(self, folder: str) -> Iterator[str]:
        with self._errors_as_outages():
            files = sorted(self._path(folder).glob("*"))
        return (path.name for path in files if path.suffix != TEMPORARY_SUFFIX)

    def folders(self) -> list[str]:
        with self._errors_as_outages():
            return sorted(path.name for path in self._folder.glob("*") if path.is_dir())

    def delete_folder(self, folder: str) -> None:
        shutil.rmtree(self._path(folder), ignore_errors=True)

    def folder_bytes(self, folder: str) -> int:
        with self._errors_as_outages():
            return sum(path.stat().st_size for path in self._path(folder).rglob("*") if path.is_file())

    def _path(self, name: str) -> Path:
        folder, _, rest = name.partition("/")
        return self._apart[folder] / rest if folder in self._apart else self._folder / name

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._errors_as_outages():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._folder / _LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                lock_descriptor(handle, blocking=True)
                yield
            finally:
                os.close(handle)

    @contextmanager
    def _errors_as_outages(self) -> Iterator[None]:
        """A shared folder that is stale, away or full may come back."""
        try:
            yield
        except OSError as error:
            raise OutageError(f"The folder of the {self._holds}, {self._folder}, can't be used: {error}") from error


def open_files(
    uri: str, holds: str, options: Mapping[str, str] | None = None, *, is_awaited: bool = False
) -> NamedFiles:
    """Open the files in a folder, or at an object store (s3://, gs://, az://) with its options.

    `is_awaited`: small values that requests wait for, so that the object store is given up on after seconds.
    """
    if "://" not in uri:
        return FolderFiles(Path(uri), holds)
    # A process with its tables in a folder does not load an object store's client.
    from pipeline.store.blobs.object_store_client import SHORT_TIMEOUT, open_object_store  # noqa: PLC0415 - see above
    from pipeline.store.object_files import ObjectFiles  # noqa: PLC0415 - see above

    timeout = SHORT_TIMEOUT if is_awaited else None
    return ObjectFiles(open_object_store(uri, options, timeout=timeout), uri.rstrip("/"), holds)
