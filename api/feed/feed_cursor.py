"""Cursor of a feed: how far each of its sources has been read, as the id of a server-sent event."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from types import MappingProxyType

FeedPosition = Mapping[tuple[str, int], int]
"""Next offset of each source and partition."""
_VERSION = 1
MAX_CURSOR_CHARACTERS = 64 * 1024
"""Enough for five sources with 1,024 partitions each."""
_MAX_VARINT_BYTES = 9


def encode_cursor(position: FeedPosition, sources: tuple[str, ...], partitions: int) -> str:
    """Write a position as a short text of letters, digits, `-` and `_`."""
    numbers = [_VERSION, partitions, *(position[source, number] for source in sources for number in range(partitions))]
    return urlsafe_b64encode(b"".join(map(_to_varint, numbers))).rstrip(b"=").decode()


def decode_cursor(text: str, sources: tuple[str, ...], partitions: int) -> FeedPosition:
    """Read a position; ValueError if it is none, or one of a log with another number of partitions."""
    if len(text) > MAX_CURSOR_CHARACTERS or not text.isascii():
        raise ValueError("it is too long or has other characters")
    numbers = list(_read_varints(urlsafe_b64decode(text + "=" * (-len(text) % 4))))
    if numbers[:2] != [_VERSION, partitions] or len(numbers) != 2 + len(sources) * partitions:
        raise ValueError("it belongs to another log or another version")
    places = [(source, number) for source in sources for number in range(partitions)]
    return MappingProxyType(dict(zip(places, numbers[2:], strict=True)))


def _to_varint(number: int) -> bytes:
    if number < 0x80:
        return number.to_bytes()
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _read_varints(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
        elif shift >= 7 * _MAX_VARINT_BYTES:
            raise ValueError("it holds a number that no offset has")
    if shift:
        raise ValueError("it is cut off")
