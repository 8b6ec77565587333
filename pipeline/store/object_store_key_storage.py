"""Storage of the keys of sealed records at an object store. Imported only where one is used."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import ObjectStore

from pipeline.errors import OutageError
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
        try:
            self._put(name, value, "create")
        except AlreadyExistsError:
            # The object may be ours: if a response is lost, the client sends the same request again.
            return self.read(name) == value
        return True

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        for _ in range(_CHANGE_ATTEMPTS):
            found = self._read(name)
            etag, old = (None, None) if found is None else found
            value = change(old)
            try:
                self._put(name, value, "create" if etag is None else {"e_tag": etag})
            except (AlreadyExistsError, PreconditionError):
                if self.read(name) == value:
                    return
            else:
                return
        raise OutageError(f"{self._uri}/{name} is changed by others all the time.")

    def delete(self, name: str) -> None:
        with self._errors_as_outages():
            try:
                obstore.delete(self._store, name)
            except FileNotFoundError:
                return

    def names(self, folder: str) -> Iterator[str]:
        with self._errors_as_outages():
            found = [meta["path"] for batch in obstore.list(self._store, prefix=folder) for meta in batch]
        return (path.rpartition("/")[2] for path in found)

    def _read(self, name: str) -> tuple[str, bytes] | None:
        with self._errors_as_outages():
            try:
                found = obstore.get(self._store, name)
                return str(found.meta["e_tag"]), bytes(found.bytes())
            except FileNotFoundError:
                return None

    def _put(self, name: str, value: bytes, mode: object) -> None:
        try:
            obstore.put(self._store, name, value, mode=mode)  # type: ignore[arg-type]  # a string or an etag
        except (AlreadyExistsError, PreconditionError):
            raise
        except BaseError as error:
            raise self._outage(error) from error

    @contextmanager
    def _errors_as_outages(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except BaseError as error:
            raise self._outage(error) from error

    def _outage(self, error: BaseError) -> OutageError:
        return OutageError(f"The keys of sealed records at {self._uri} can't be used: {error_summary(error)}")
