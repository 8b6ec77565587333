"""Compression of values in the embedded log: most are JSON with text, which takes half of its space."""

import logging
import zlib

log = logging.getLogger(__name__)

MIN_BYTES = 512
"""Smaller values are stored as they are: they gain little."""
_LEVEL = 6
_MIN_GAIN = 0.9


def compress_value(value: bytes) -> tuple[bytes, int | None]:
    """Return the bytes to store, and 1 if they are compressed; a value that gains less than a tenth is not."""
    if len(value) < MIN_BYTES:
        return value, None
    compressed = zlib.compress(value, _LEVEL)
    return (compressed, 1) if len(compressed) < _MIN_GAIN * len(value) else (value, None)


def decompress_value(stored: bytes, is_compressed: int | None) -> bytes:
    """Return the value; if its checksum shows damage, the stored bytes, so that the record becomes a dead letter."""
    if not is_compressed:
        return stored
    try:
        return zlib.decompress(stored)
    except zlib.error:
        log.exception("A value of %d bytes in the log is damaged.", len(stored))
        return stored
