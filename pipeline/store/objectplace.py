"""Generations of tables at an object store: s3://, gs:// or az://. Imported only where one is used."""

from collections.abc import Awaitable
from typing import TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import ObjectStore

from pipeline.errors import OutageError
from pipeline.store.conditional import look, replaced
from pipeline.store.objects import reason
from pipeline.store.places import FOLDER, POINTER, TABLE

T = TypeVar("T")


class ObjectPlace:
    """`places.Place` below a prefix. OutageError when the object store does not answer."""

    def __init__(self, store: ObjectStore, uri: str) -> None:
        self._store = store
        self._uri = uri.rstrip("/")
        self._etag: str | None = None

    async def pointer(self) -> bytes | None:
        found = await self._asked(look(self._store, POINTER))
        self._etag = None if found is None else found[0]
        return None if found is None else found[1]

    async def point(self, value: bytes) -> None:
        try:
            self._etag, _ = await self._asked(replaced(self._store, POINTER, self._etag, value))
        except (PreconditionError, AlreadyExistsError) as error:
            raise ValueError(f"Somebody else has changed {self._uri}/{POINTER} meanwhile.") from error

    async def read(self, name: str) -> bytes | None:
        found = await self._asked(look(self._store, name))
        return None if found is None else found[1]

    async def write(self, name: str, value: bytes) -> None:
        await self._asked(obstore.put_async(self._store, name, value))

    async def numbers(self) -> list[int]:
        folders = (await self._asked(obstore.list_with_delimiter_async(self._store)))["common_prefixes"]
        found = (FOLDER.fullmatch(folder) for folder in folders)
        return sorted(int(match[1]) for match in found if match)

    async def remove(self, number: int) -> None:
        paths = [path for path, _ in await self._objects(number)]
        if paths:
            await self._asked(obstore.delete_async(self._store, paths))

    async def size(self, number: int) -> int:
        return sum(size for _, size in await self._objects(number))

    def uri(self, number: int) -> str:
        return f"{self._uri}/g{number}" if number else self._uri

    async def _objects(self, number: int) -> list[tuple[str, int]]:
        """Paths and bytes of what a generation consists of."""
        return await self._asked(self._listed(number))

    async def _listed(self, number: int) -> list[tuple[str, int]]:
        prefix = f"g{number}" if number else None
        return [
            (entry["path"], entry["size"])
            async for page in obstore.list(self._store, prefix=prefix)
            for entry in page
            if number or entry["path"].partition("/")[0].endswith(TABLE)
        ]

    async def _asked(self, answer: Awaitable[T]) -> T:
        try:
            return await answer
        except (PreconditionError, AlreadyExistsError):
            raise
        except BaseError as error:
            raise OutageError(f"The object store at {self._uri} failed: {reason(error)}") from error
