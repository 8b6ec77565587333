"""Storage of the keys of sealed records: a folder, or an object store. Synchronous."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import lock_descriptor

from pipeline.errors import OutageError
from pipeline.ports import KeyStorage
from pipeline.runtime.durable_files import TEMPORARY_SUFFIX, fsync, write_durably

_LOCK_NAME = "lock"


class FolderKeyStorage:
    """Values in files that only their owner may read. A value changes under a lock of the whole folder.

    `apart`: folders that do not lie in this one, by their name.
    """

    def __init__(self, folder: Path, apart: Mapping[str, Path] | None = None) -> None:
        self._folder = folder
        self._apart = apart or {}

    def read(self, name: str) -> bytes | None:
        with self._errors_as_outages():
            try:
                return self._path(name).read_bytes()
            except FileNotFoundError:
                return None

    def create(self, name: str, value: bytes) -> bool:
        with self._locked():
            if self._path(name).exists():
                return False
            self._write(name, value)
            return True

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        with self._locked():
            self._write(name, change(self.read(name)))

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

    def _path(self, name: str) -> Path:
        folder, _, rest = name.partition("/")
        return self._apart[folder] / rest if folder in self._apart else self._folder / name

    def _write(self, name: str, value: bytes) -> None:
        path = self._path(name)
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700, parents=True)
            fsync(path.parent.parent)
        write_durably(path, value)  # a temporary file that is renamed: readable for its owner only

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
        try:
            yield
        except OSError as error:
            raise OutageError(f"The keys of sealed records in {self._folder} can't be used: {error}") from error


def open_key_storage(uri: str, options: Mapping[str, str] | None = None) -> KeyStorage:
    """Open the storage in a folder, or at an object store (s3://, gs://, az://) with its options."""
    if "://" not in uri:
        return FolderKeyStorage(Path(uri))
    # A process with its tables in a folder does not load an object store's client.
    from pipeline.store.blobs.object_store_client import SHORT_TIMEOUT, open_object_store  # noqa: PLC0415 - see above
    from pipeline.store.object_store_key_storage import ObjectStoreKeyStorage  # noqa: PLC0415 - see above

    return ObjectStoreKeyStorage(open_object_store(uri, options, timeout=SHORT_TIMEOUT), uri)
