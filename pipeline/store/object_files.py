"""Small values in objects, and the prefixes beside them. Imported only where an object store is used."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from pipeline.errors import OutageError
from pipeline.store.blobs.conditional_put import get_with_etag, put_if_unchanged
from pipeline.store.blobs.object_store_client import error_summary

if TYPE_CHECKING:
    from obstore import ObjectMeta

_CHANGE_ATTEMPTS = 20


class ObjectFiles:
    """Objects; one is updated on condition of its etag. `holds`: what is kept here, for messages."""

    def __init__(self, store: ObjectStore, uri: str, holds: str) -> None:
        self._store = store
        self._uri = uri
        self._holds = holds

    def read(self, name: str) -> bytes | None:
        found = self._read(name)
        return None if found is None else found[1]

    def write(self, name: str, value: bytes) -> None:
        with self._errors_as_outages():
            obstore.put(self._store, name, value)

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
        return (meta["path"].rpartition("/")[2] for meta in self._list(folder))

    def folders(self) -> list[str]:
        with self._errors_as_outages():
            return sorted(obstore.list_with_delimiter(self._store)["common_prefixes"])

    def delete_folder(self, folder: str) -> None:
        paths = [meta["path"] for meta in self._list(folder)]
        with self._errors_as_outages():
            if paths:
                obstore.delete(self._store, paths)

    def folder_bytes(self, folder: str) -> int:
        return sum(meta["size"] for meta in self._list(folder))

    def _list(self, folder: str) -> "list[ObjectMeta]":
        with self._errors_as_outages():
            return [meta for batch in obstore.list(self._store, prefix=folder) for meta in batch]

    def _read(self, name: str) -> tuple[str, bytes] | None:
        with self._errors_as_outages():
            return get_with_etag(self._store, name)

    @contextmanager
    def _errors_as_outages(self) -> Iterator[None]:
        try:
            yield
        except BaseError as error:
            reason = error_summary(error)
            raise OutageError(f"The object store of the {self._holds}, {self._uri}, can't be used: {reason}") from error
