"""Generations at an object store (s3://, gs://, az://). Imported only where one is used."""

from collections.abc import Awaitable
from typing import TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import ObjectStore

from pipeline.errors import OutageError
from pipeline.store.blobs.conditional_put import read_with_etag, replace_if_unchanged
from pipeline.store.blobs.object_store_client import error_summary
from pipeline.store.generations.generation_storage import GENERATION_FOLDER, LANCE_SUFFIX, POINTER_NAME

T = TypeVar("T")


class ObjectGenerationStorage:
    """`GenerationStorage` below a prefix. OutageError if the object store does not answer."""

    def __init__(self, store: ObjectStore, uri: str) -> None:
        self._store = store
        self._uri = uri.rstrip("/")
        self._etag: str | None = None

    async def read_pointer(self) -> bytes | None:
        found = await self._translate_errors(read_with_etag(self._store, POINTER_NAME))
        self._etag = None if found is None else found[0]
        return None if found is None else found[1]

    async def write_pointer(self, value: bytes) -> None:
        try:
            self._etag, _ = await self._translate_errors(
                replace_if_unchanged(self._store, POINTER_NAME, self._etag, value)
            )
        except (PreconditionError, AlreadyExistsError) as error:
            raise ValueError(f"Another process has changed {self._uri}/{POINTER_NAME} in the meantime.") from error

    async def read_note(self, name: str) -> bytes | None:
        found = await self._translate_errors(read_with_etag(self._store, name))
        return None if found is None else found[1]

    async def write_note(self, name: str, value: bytes) -> None:
        await self._translate_errors(obstore.put_async(self._store, name, value))

    async def list_generations(self) -> list[int]:
        folders = (await self._translate_errors(obstore.list_with_delimiter_async(self._store)))["common_prefixes"]
        found = (GENERATION_FOLDER.fullmatch(folder) for folder in folders)
        return sorted(int(match[1]) for match in found if match)

    async def delete_generation(self, number: int) -> None:
        paths = [path for path, _ in await self._list_objects(number)]
        if paths:
            await self._translate_errors(obstore.delete_async(self._store, paths))

    async def size(self, number: int) -> int:
        return sum(size for _, size in await self._list_objects(number))

    def uri(self, number: int) -> str:
        return f"{self._uri}/g{number}" if number else self._uri

    async def _list_objects(self, number: int) -> list[tuple[str, int]]:
        """Return path and size of every object of a generation."""
        return await self._translate_errors(self._list_entries(number))

    async def _list_entries(self, number: int) -> list[tuple[str, int]]:
        prefix = f"g{number}" if number else None
        return [
            (entry["path"], entry["size"])
            async for page in obstore.list(self._store, prefix=prefix)
            for entry in page
            if number or entry["path"].partition("/")[0].endswith(LANCE_SUFFIX)
        ]

    async def _translate_errors(self, request: Awaitable[T]) -> T:
        try:
            return await request
        except (PreconditionError, AlreadyExistsError):
            raise
        except BaseError as error:
            raise OutageError(f"The object store at {self._uri} failed: {error_summary(error)}") from error
