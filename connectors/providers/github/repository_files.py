"""Sync of a repository's files, compared by Git hashes so that only changes are read."""

import asyncio
import base64
import io
import re
import tarfile
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha1
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from connectors.client.concurrent_map import map_concurrently
from connectors.client.json_answers import json_or_raise
from connectors.errors import ProviderUnavailableError, ResourceFetchError, UnexpectedAnswerError
from connectors.providers.common.file_metadata import file_refusal
from connectors.providers.common.item_fetcher import ItemFetcher, item_response
from connectors.providers.github.client import GitHubClient, Repository, error_message
from connectors.providers.github.file_filter import FileFilter, is_documentation
from connectors.sync_messages import FailedItem, ItemFile, RemovedItem, SourceItem, SyncState
from schemas.base import Metadata
from schemas.limits import MAX_CONTENT_BYTES

_BATCH_FILES: Final = 500
_MIN_FILES_FOR_ARCHIVE: Final = 20
"""Number of files from which one archive is cheaper than single blobs."""
_MAX_UNPACKED_BYTES: Final = 512 * 1024 * 1024
_CONCURRENCY: Final = 8
_REGULAR_FILE_MODES: Final = frozenset({"100644", "100755"})
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class HeadCommit:
    """Newest commit of the default branch; `author` and `at` are exact only for files it changed."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    committed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Blob:
    path: str
    sha: str
    size: int


async def fetch_head(client: GitHubClient, repository: Repository) -> HeadCommit | None:
    """Fetch the head of the default branch; None for a repository without commits."""
    answer = await client.get_response(f"{repository.api_path}/commits/{quote(repository.default_branch)}")
    has_no_commits = re.search(r"is empty|no commit", error_message(answer), re.IGNORECASE)
    if answer.status_code == 404 or (answer.status_code in {409, 422} and has_no_commits):
        return None
    body = json_or_raise(answer)
    person = body["commit"].get("author") or {}
    login = (body.get("author") or {}).get("login") or person.get("name") or ""
    date = (body["commit"].get("committer") or person).get("date")
    at = datetime.fromisoformat(date) if date else None
    parents = tuple(parent["sha"] for parent in body.get("parents") or ())
    return HeadCommit(body["sha"], body["commit"]["tree"]["sha"], parents, login, at)


@dataclass(slots=True)
class RepositoryFiles:
    """Files of one repository at one commit: documentation, and what the filter adds."""

    client: GitHubClient
    repository: Repository
    head: HeadCommit | None
    previous_sha: str | None
    fetcher: ItemFetcher
    file_filter: FileFilter
    _tree_bytes: int = 0

    @property
    def _is_single_step(self) -> bool:
        """Tell whether the previous commit is the only parent of this one."""
        expected = (self.previous_sha,) if self.previous_sha else ()
        return self.head is not None and self.head.parents == expected

    async def sync(self, state: SyncState, *, full_sync: bool) -> AsyncIterator[SourceItem | RemovedItem | FailedItem]:
        """Yield differences to the stored items; in a full sync unlisted files are removed by the caller."""
        blobs = {self._item_id(blob.path): blob async for blob in self._selected_blobs()}
        if not full_sync:
            prefix = f"{self.repository.item_id_prefix}blob/"
            for gone in [id_ async for id_, _ in state.item_versions(prefix) if id_ not in blobs]:
                yield RemovedItem(gone)
        changed_blobs: list[Blob] = []
        listed = iter(blobs.items())
        while page := list(islice(listed, _BATCH_FILES)):
            chosen = await state.select_changed([(id_, self._version(blob)) for id_, blob in page])
            changed_blobs += [blob for id_, blob in page if id_ in chosen]
        small = [blob for blob in changed_blobs if blob.size <= MAX_CONTENT_BYTES]
        for blob in changed_blobs:
            if blob.size > MAX_CONTENT_BYTES:
                limit = f"{MAX_CONTENT_BYTES // 2**20} MB"
                yield self._failure(blob, f"The file is larger than {limit}. Split it.", "too_large")
        async for step in self._read_items(small):
            yield step

    async def _selected_blobs(self) -> AsyncIterator[Blob]:
        if self.head is None:
            return
        async for entry in self._tree_entries(self.head.tree, ""):
            self._tree_bytes += entry.get("size") or 0
            is_file = entry.get("type") == "blob" and entry.get("mode") in _REGULAR_FILE_MODES
            if is_file and self.file_filter.selects(entry["path"]):
                yield Blob(entry["path"], entry["sha"], entry.get("size") or 0)

    async def _tree_entries(self, tree: str, prefix: str) -> AsyncIterator[dict[str, Any]]:
        """Iterate the entries of a tree recursively; a tree too large for one response is walked."""
        place = f"{self.repository.api_path}/git/trees/{tree}"
        body = await self.client.get_json(place, recursive=1)
        is_complete = not body.get("truncated")
        if not is_complete:
            body = await self.client.get_json(place)
            if body.get("truncated"):
                raise UnexpectedAnswerError(f"The folder {prefix or '/'} of {self.repository.full_name} is too large.")
        for entry in body["tree"]:
            path = prefix + entry["path"]
            if entry.get("type") == "tree" and not is_complete:
                async for inner in self._tree_entries(entry["sha"], f"{path}/"):
                    yield inner
            else:
                yield {**entry, "path": path}

    async def _read_items(self, blobs: list[Blob]) -> AsyncIterator[SourceItem | FailedItem]:
        """Read files from an archive if there are many, the others one by one; each may fail alone."""
        missing = {blob.path: blob for blob in blobs}
        if len(blobs) >= _MIN_FILES_FOR_ARCHIVE and self._tree_bytes <= _MAX_UNPACKED_BYTES:
            async for path, data in self._read_archive(missing):
                yield self._item(missing.pop(path), data)
        async for step in map_concurrently(missing.values(), self._fetch_item, _CONCURRENCY):
            yield step

    async def _read_archive(self, changed_blobs: dict[str, Blob]) -> AsyncIterator[tuple[str, bytes]]:
        """Read files from one archive, skipping those that Git attributes exclude or change."""
        if self.head is None:
            return
        try:
            answer = await self.client.get_response(f"{self.repository.api_path}/tarball/{self.head.sha}")
        except (ResourceFetchError, ProviderUnavailableError):
            return  # too large, or not to be had now: files are read one by one
        if answer.status_code >= 400:
            return
        members = _archive_members(answer.content, {path: blob.sha for path, blob in changed_blobs.items()})
        while batch := await asyncio.to_thread(_next_members, members):
            for path, data in batch:
                yield path, data

    async def _fetch_item(self, blob: Blob) -> SourceItem | FailedItem:
        name = PurePosixPath(blob.path).name
        found = await self.fetcher.fetch(self._item_id(blob.path), name, lambda: self._read_blob(blob))
        return found if isinstance(found, FailedItem) else self._item(blob, found)

    async def _read_blob(self, blob: Blob) -> bytes:
        answer = await self.client.get_response(f"{self.repository.api_path}/git/blobs/{blob.sha}")
        return base64.b64decode(json_or_raise(item_response(answer, "GitHub"))["content"])

    def _item_id(self, path: str) -> str:
        return f"{self.repository.item_id_prefix}blob/{path}"

    def _version(self, blob: Blob) -> str:
        """Hash content and location: renaming a repository changes URLs and metadata of its files."""
        return f"{blob.sha} {self.repository.full_name}@{self.repository.default_branch}"

    def _failure(self, blob: Blob, message: str, code: str) -> FailedItem:
        return FailedItem(self._item_id(blob.path), message, PurePosixPath(blob.path).name, code)

    def _item(self, blob: Blob, data: bytes) -> SourceItem | FailedItem:
        if data.startswith(_LFS_POINTER):
            return self._failure(blob, "The file is kept in Git LFS, which is not read.", "unsupported")
        repository, path = self.repository, PurePosixPath(blob.path)
        metadata: Metadata = {
            "type": "file" if is_documentation(blob.path) else "code",
            "repository": repository.full_name,
            "branch": repository.default_branch,
            "path": blob.path,
        }
        committed_at = self.head.committed_at if self._is_single_step and self.head is not None else None
        if committed_at is not None and self.head is not None:
            metadata |= {"author": self.head.author, "updatedAt": committed_at.isoformat()}
        is_document = is_documentation(blob.path)
        if not is_document and (refusal := file_refusal(path.name, "text/plain", blob.size)):
            return FailedItem.of_error(self._item_id(blob.path), path.name, refusal)
        text = _decode_utf8(data) if is_document else None
        return SourceItem(
            self._item_id(blob.path),
            self._version(blob),
            (text and document_title(text)) or path.name,
            text=text,
            file=None if text is not None else ItemFile(data, path.name, "text/plain"),
            url=f"{repository.url}/blob/{quote(repository.default_branch)}/{quote(blob.path)}",
            metadata=metadata,
            date=committed_at,
        )


def document_title(text: str) -> str | None:
    """Return the title of the front matter or the first top-level heading."""
    lines = text.splitlines()[:200]
    if lines and lines[0].strip() == "---":
        for line in lines[1:]:
            if line.strip() == "---":
                break
            if line.startswith("title:"):
                return line.removeprefix("title:").strip().strip("\"'") or None
    found = next((line[2:].strip() for line in lines if line.startswith(("# ", "= "))), None)
    return found or None


def _decode_utf8(data: bytes) -> str | None:
    """Decode UTF-8; None for other encodings, which the parser detects."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _archive_members(archive: bytes, changed_blobs: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive whose content matches the hash in the tree."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r|gz") as tar:
            for member in tar:
                _, _, path = member.name.partition("/")
                if path in changed_blobs and member.isreg() and (opened := tar.extractfile(member)):
                    data = opened.read()
                    if git_hash(data) == changed_blobs[path]:
                        yield path, data
    except (tarfile.TarError, EOFError, OSError, zlib.error):
        return  # a damaged archive: its other files are read one by one


def git_hash(data: bytes) -> str:
    """Compute Git's hash of a file's content."""
    return sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


def _next_members(members: Iterator[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return list(islice(members, 64))
