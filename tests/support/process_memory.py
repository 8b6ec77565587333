"""Search of a running process's memory for words, by Linux's /proc."""

from collections.abc import Iterable
from pathlib import Path

_READ_BYTES = 1 << 22
_ENCODINGS = ("utf-8", "utf-16-le", "utf-32-le")
_STEM_CHARS = 4
"""Planted words share their first letters: most memory holds none of these, and is searched for few strings."""


def words_in_memory(pid: int, words: Iterable[str]) -> set[str]:
    """Words that are anywhere in the readable memory of a process, in UTF-8, UTF-16 or UTF-32."""
    words = list(words)
    forms = {word.encode(encoding): word for word in words for encoding in _ENCODINGS}
    stems = {word[:_STEM_CHARS].encode(encoding) for word in words for encoding in _ENCODINGS}
    overlap = max(map(len, forms))
    found: set[str] = set()
    with (Path("/proc") / str(pid) / "mem").open("rb", buffering=0) as memory:
        for start, end in _readable_ranges(pid):
            position, last = start, b""
            while position < end:
                memory.seek(position)
                try:
                    part = memory.read(min(_READ_BYTES, end - position))
                except OSError:  # a device's pages
                    break
                if not part:
                    break
                searched = last + part
                if any(stem in searched for stem in stems):
                    found |= {word for form, word in forms.items() if form in searched}
                last, position = searched[-overlap:], position + len(part)
    return found


def _readable_ranges(pid: int) -> list[tuple[int, int]]:
    ranges = []
    for line in (Path("/proc") / str(pid) / "maps").read_text().splitlines():
        addresses, permissions, *_, name = [*line.split(), ""]
        if permissions.startswith("r") and "[v" not in name:
            start, end = (int(address, 16) for address in addresses.split("-"))
            ranges.append((start, end))
    return ranges
