"""Search of every byte that a service keeps for words that were planted in it."""

import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import obstore
from obstore.store import ObjectStore

from pipeline.bus.sqlite.value_compression import decompress_value
from pipeline.store.blobs.object_store_client import open_object_store

_INFLATE_STEP_BYTES = 64


def found_in(folder: Path, words: Iterable[str]) -> dict[str, list[str]]:
    """Files that hold each word, in whatever case and in UTF-8 or UTF-16; values of a log are searched decompressed."""
    # Folders may vanish meanwhile, as those of topics that a broker deletes.
    files = sorted(Path(parent) / name for parent, _, names in os.walk(folder) for name in names)
    contents = ((str(path.relative_to(folder)), data) for path in files for data in _contents(path))
    return _found_among(contents, list(words))


async def found_in_object_store(uri: str, options: dict[str, str], words: Iterable[str]) -> dict[str, list[str]]:
    """Objects below a URI that hold each word."""
    store = open_object_store(uri, options)
    paths = [meta["path"] async for batch in obstore.list(store) for meta in batch]
    contents = [(path, await _bytes_of(store, path)) for path in paths]
    return _found_among(contents, list(words))


async def _bytes_of(store: ObjectStore, path: str) -> bytes:
    try:
        return bytes(await (await obstore.get_async(store, path)).bytes_async())
    except FileNotFoundError:  # a probe by which a process tries the store has gone since it was listed
        return b""


def _found_among(contents: Iterable[tuple[str, bytes]], words: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, data in contents:
        # A broker's files end in megabytes of zeros.
        searched = data.rstrip(b"\0").lower().translate(None, b"\0")
        for word in words:
            if word.encode() in searched and name not in found.get(word, ()):
                found.setdefault(word, []).append(name)
    return found


def _contents(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and of a log the values that are compressed in it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    yield data
    if path.name.startswith("log.db"):
        yield from _inflated_streams(data)
    if path.name == "log.db":
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
            for value, compressed in log.execute("SELECT value, compressed FROM records WHERE compressed"):
                yield decompress_value(value, compressed)


def _inflated_streams(data: bytes) -> Iterator[bytes]:
    """Yield what the streams of zlib in these bytes begin with: removed pages may hold parts of them."""
    for match in re.finditer(b"\x78\x9c", data):
        inflate = zlib.decompressobj()
        inflated = b""
        with suppress(zlib.error):
            for start in range(match.start(), len(data), _INFLATE_STEP_BYTES):
                inflated += inflate.decompress(data[start : start + _INFLATE_STEP_BYTES])
                if inflate.eof:
                    break
        yield inflated
