"""Documentation files of a repository, told apart by Git's own hashes: nothing that is unchanged is read."""

import asyncio
import base64
import io
import tarfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha1
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from connectors.concurrency import mapped
from connectors.errors import ConnectorError, NotFetchedError
from connectors.http import checked
from connectors.ports import Failure, File, Item, Known, Removed
from connectors.providers.github_api import Api, Repository
from schemas.base import Metadata
from schemas.limits import CONTENT_BYTES

SUFFIXES: Final = frozenset({".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".org"})
_PAGE: Final = 500
_ARCHIVE_FROM: Final = 20
"""So many files to read make one archive cheaper than their blobs."""
_UNPACKED_BYTES: Final = 512 * 1024 * 1024
_WIDTH: Final = 8
_ORDINARY: Final = frozenset({"100644", "100755"})
_POINTER: Final = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest commit of the default branch. `author` and `at` are exact for what it changed itself."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a tree."""

    path: str
    sha: str
    size: int


async def head(api: Api, repository: Repository) -> Head | None:
    """None: nothing was ever committed."""
    answer = await api.ask(f"{repository.path}/commits/{quote(repository.branch)}")
    if answer.status_code in {404, 409, 422}:
        return None
    body = checked(answer)
    person = body["commit"]["author"] or {}
    login = (body["author"] or {}).get("login") or person.get("name", "")
    at = datetime.fromisoformat((body["commit"]["committer"] or person)["date"])
    parents = tuple(parent["sha"] for parent in body["parents"])
    return Head(body["sha"], body["commit"]["tree"]["sha"], parents, login, at)


class Files:
    """The documentation files of one repository as of one commit."""

    def __init__(self, api: Api, repository: Repository, newest: Head | None, before: str | None) -> None:
        self._api = api
        self._repository = repository
        self._head = newest
        self._alone = newest is not None and newest.parents == ((before,) if before else ())
        self._unpacked = 0

    async def steps(self, known: Known, *, complete: bool) -> AsyncIterator[Item | Removed | Failure]:
        """What differs from what is known. `complete`: whoever reads this removes what was not mentioned."""
        blobs = {self._id(blob.path): blob async for blob in self._documents()}
        if not complete:
            prefix = f"{self._repository.prefix}blob/"
            for gone in [id_ async for id_, _ in known.versions(prefix) if id_ not in blobs]:
                yield Removed(gone)
        wanted: list[Blob] = []
        listed = iter(blobs.items())
        while page := list(islice(listed, _PAGE)):
            chosen = await known.wanted([(id_, self._version(blob)) for id_, blob in page])
            wanted += [blob for id_, blob in page if id_ in chosen]
        small = [blob for blob in wanted if blob.size <= CONTENT_BYTES]
        for blob in wanted:
            if blob.size > CONTENT_BYTES:
                limit = f"{CONTENT_BYTES // 2**20} MB"
                yield self._failure(blob, f"The file is larger than {limit}. Split it.", "too_large")
        async for blob, data in self._contents(small):
            yield self._item(blob, data)

    async def _documents(self) -> AsyncIterator[Blob]:
        if self._head is None:
            return
        async for entry in self._entries(self._head.tree, ""):
            self._unpacked += entry.get("size", 0)
            suffix = PurePosixPath(entry["path"]).suffix.lower()
            if entry["type"] == "blob" and entry["mode"] in _ORDINARY and suffix in SUFFIXES:
                yield Blob(entry["path"], entry["sha"], entry.get("size", 0))

    async def _entries(self, tree: str, prefix: str) -> AsyncIterator[dict[str, Any]]:
        """Of a tree and those within; one that is too large for a single answer is walked."""
        place = f"{self._repository.path}/git/trees/{tree}"
        body = await self._api.get(place, recursive=1)
        whole = not body["truncated"]
        if not whole:
            body = await self._api.get(place)
            if body["truncated"]:
                raise ConnectorError(f"The folder {prefix or '/'} of {self._repository.name} is too large.")
        for entry in body["tree"]:
            path = prefix + entry["path"]
            if entry["type"] == "tree" and not whole:
                async for inner in self._entries(entry["sha"], f"{path}/"):
                    yield inner
            else:
                yield {**entry, "path": path}

    async def _contents(self, blobs: list[Blob]) -> AsyncIterator[tuple[Blob, bytes]]:
        missing = {blob.path: blob for blob in blobs}
        if len(blobs) >= _ARCHIVE_FROM and self._unpacked <= _UNPACKED_BYTES:
            async for path, data in self._archived(missing):
                yield missing.pop(path), data
        async for blob, data in mapped(missing.values(), self._read, _WIDTH):
            yield blob, data

    async def _archived(self, wanted: dict[str, Blob]) -> AsyncIterator[tuple[str, bytes]]:
        """From one archive, where it has them as Git does: attributes may leave files out or change them."""
        if self._head is None:
            return
        try:
            answer = await self._api.ask(f"{self._repository.path}/tarball/{self._head.sha}")
        except NotFetchedError:
            return  # larger than an answer may be: file by file then
        if answer.status_code >= 400:
            return
        members = _members(answer.content, {path: blob.sha for path, blob in wanted.items()})
        while batch := await asyncio.to_thread(_some, members):
            for path, data in batch:
                yield path, data

    async def _read(self, blob: Blob) -> tuple[Blob, bytes]:
        body = await self._api.get(f"{self._repository.path}/git/blobs/{blob.sha}")
        return blob, base64.b64decode(body["content"])

    def _id(self, path: str) -> str:
        return f"{self._repository.prefix}blob/{path}"

    def _version(self, blob: Blob) -> str:
        """Also where it is found: a renamed repository changes URLs and metadata of all its files."""
        return f"{blob.sha} {self._repository.name}@{self._repository.branch}"

    def _failure(self, blob: Blob, message: str, code: str) -> Failure:
        return Failure(self._id(blob.path), message, PurePosixPath(blob.path).name, code)

    def _item(self, blob: Blob, data: bytes) -> Item | Failure:
        if data.startswith(_POINTER):
            return self._failure(blob, "The file is kept in Git LFS, which is not read.", "unsupported")
        repository, path = self._repository, PurePosixPath(blob.path)
        metadata: Metadata = {
            "type": "file",
            "repository": repository.name,
            "branch": repository.branch,
            "path": blob.path,
        }
        if self._alone and self._head is not None:
            metadata |= {"author": self._head.author, "updatedAt": self._head.at.isoformat()}
        text = _text(data)
        return Item(
            self._id(blob.path),
            self._version(blob),
            (text and title(text)) or path.name,
            text=text,
            file=None if text is not None else File(data, path.name, "text/plain"),
            url=f"{repository.url}/blob/{quote(repository.branch)}/{quote(blob.path)}",
            metadata=metadata,
            date=self._head.at if self._alone and self._head is not None else None,
        )


def title(text: str) -> str | None:
    """The first heading of the first level, or the title of the front matter."""
    lines = text.splitlines()[:200]
    if lines and lines[0].strip() == "---":
        for line in lines[1:]:
            if line.strip() == "---":
                break
            if line.startswith("title:"):
                return line.removeprefix("title:").strip().strip("\"'") or None
    found = next((line[2:].strip() for line in lines if line.startswith(("# ", "= "))), None)
    return found or None


def _text(data: bytes) -> str | None:
    """None: not UTF-8; whoever extracts it finds the encoding."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _members(archive: bytes, wanted: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Files of a packed archive whose content has the hash that the tree says."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r|gz") as tar:
        for member in tar:
            _, _, path = member.name.partition("/")
            if path in wanted and member.isreg() and (opened := tar.extractfile(member)):
                data = opened.read()
                if git_hash(data) == wanted[path]:
                    yield path, data


def git_hash(data: bytes) -> str:
    """The name that Git gives to a file's content."""
    return sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


def _some(members: Iterator[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return list(islice(members, 64))
