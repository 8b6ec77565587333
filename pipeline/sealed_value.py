"""Values encrypted with AES-GCM. A process that seals nothing goes without the library."""

import os
from contextlib import suppress

_NONCE_BYTES = 12
TAG_BYTES = 16
"""Bytes that a value is longer once it is encrypted."""


class DamagedValueError(ValueError):
    """A sealed value that was changed, or has another key."""


def seal(key: bytes, value: bytes, context: bytes | None = None) -> bytes:
    """Encrypt a value under a key of 16 or 32 bytes, which may have encrypted others; it opens in `context` only."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + encrypt(key, nonce, value, context)


def open_sealed(key: bytes, sealed: bytes, context: bytes | None = None) -> bytes | None:
    """Return the value; None if it is damaged or has another key."""
    with suppress(DamagedValueError):
        return decrypt(key, sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context)
    return None


def encrypt(key: bytes, nonce: bytes, value: bytes | memoryview, context: bytes | None) -> bytes:
    """Encrypt a value with a nonce that the key never had before."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - see above

    return AESGCM(key).encrypt(nonce, value, context)


def decrypt(key: bytes, nonce: bytes, encrypted: bytes | bytearray, context: bytes | None) -> bytes:
    """Return the value; DamagedValueError."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - see above

    try:
        return AESGCM(key).decrypt(nonce, encrypted, context)
    except InvalidTag as error:
        raise DamagedValueError("the value was changed, or has another key") from error
