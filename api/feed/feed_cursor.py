"""Cursor of a feed: how far each of its sources has been read, as the id of a server-sent event.

It is encrypted, because offsets would show a listener how much others write.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Imported on first use: a service without listeners does not pay for its memory.
    from cryptography.fernet import Fernet

Place = tuple[str, int]
"""Name of a source, and partition."""
FeedPosition = Mapping[Place, int]
"""Next offset of each source and partition."""
_VERSION = 2
MAX_CURSOR_CHARACTERS = 64 * 1024
"""Enough for five sources with 1,024 partitions each."""
_CURSOR = re.compile(r"[0-9a-f]{1,16}(?:-[0-9a-f]{1,16})*")


class CursorCipher:
    """Encrypts cursors with the first of the keys and decrypts with any; without keys they stay readable."""

    def __init__(self, keys: str | None) -> None:
        self._encoded_keys = [] if keys is None else [key.strip() for key in keys.split(",") if key.strip()]

    def encrypt(self, cursor: str) -> str:
        """Encrypt a cursor, to letters, digits, `-` and `_`."""
        return self._keys[0].encrypt(cursor.encode()).rstrip(b"=").decode() if self._keys else cursor

    def decrypt(self, text: str) -> str:
        """Decrypt a cursor; ValueError if no key fits."""
        from cryptography.fernet import InvalidToken, MultiFernet  # noqa: PLC0415 - see above

        if not self._keys:
            return text
        try:
            return MultiFernet(self._keys).decrypt(text + "=" * (-len(text) % 4)).decode()
        except InvalidToken as error:
            raise ValueError("this service did not issue it") from error

    @cached_property
    def _keys(self) -> "list[Fernet]":
        from cryptography.fernet import Fernet  # noqa: PLC0415 - see above

        return [Fernet(key) for key in self._encoded_keys]


def encode_cursor(position: FeedPosition, sources: tuple[str, ...], partitions: int) -> str:
    """Write a position as a short text of letters, digits and `-`."""
    numbers = [_VERSION, partitions, *(position[source, number] for source in sources for number in range(partitions))]
    return "-".join(f"{number:x}" for number in numbers)


def decode_cursor(text: str, sources: tuple[str, ...], partitions: int) -> FeedPosition:
    """Read a position; ValueError if it is none, or one of a log with another number of partitions."""
    if len(text) > MAX_CURSOR_CHARACTERS or not _CURSOR.fullmatch(text):
        raise ValueError("it is too long or has other characters")
    numbers = [int(part, 16) for part in text.split("-")]
    if numbers[:2] != [_VERSION, partitions] or len(numbers) != 2 + len(sources) * partitions:
        raise ValueError("it belongs to another log or another version")
    places = [(source, number) for source in sources for number in range(partitions)]
    return MappingProxyType(dict(zip(places, numbers[2:], strict=True)))
