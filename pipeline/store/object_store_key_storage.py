"""Storage of the keys of sealed records at an object store. Imported only where one is used."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from pipeline.errors import OutageError
from pipeline.store.blobs.conditional_put import get_with_etag, put_if_unchanged
from pipeline.store.blobs.object_store_client import error_summary

_CHANGE_ATTEMPTS = 20


class ObjectStoreKeyStorage:
    """Objects; a value changes on condition of its etag."""

    def __init__(self, store: ObjectStore, uri: str) -> None:
        self._store = store
        self._uri = uri

    def read(self, name: str) -> bytes | None:
        found = self._read(name)
        return None if found is None else found[1]

    def create(self, name: str, value: bytes) -> bool:
        with self._errors_as_outages():
            return put_if_unchanged(self._store, name, None, value)

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        for _ in range(_CHANGE_ATTEMPTS):
            etag, old = self._read(name) or (None, None)
            value = change(old)
            with self._errors_as_outages():
                if put_if_unchanged(self._store, name, etag, value):
                    return
        raise OutageError(f"{self._uri}/{name} is changed by others all the time.")

    def delete(self, name: str) -> None:
        with self._errors_as_outages(), suppress(FileNotFoundError):
            obstore.delete(self._store, name)

    def names(self, folder: str) -> Iterator[str]:
        with self._errors_as_outages():
            found = [meta["path"] for batch in obstore.list(self._store, prefix=folder) for meta in batch]
        return (path.rpartition("/")[2] for path in found)

    def _read(self, name: str) -> tuple[str, bytes] | None:
        with self._errors_as_outages():
            return get_with_etag(self._store, name)

    @contextmanager
    def _errors_as_outages(self) -> Iterator[None]:
        try:
            yield
        except BaseError as error:
            reason = error_summary(error)
            raise OutageError(f"The keys of sealed records at {self._uri} can't be used: {reason}") from error
