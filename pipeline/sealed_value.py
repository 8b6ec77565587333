"""Small values encrypted with AES-GCM, each with a nonce of its own."""

import os

_NONCE_BYTES = 12


def seal(key: bytes, value: bytes) -> bytes:
    """Encrypt a value under a key of 16 or 32 bytes, which may have encrypted others."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - a process that seals nothing goes without it

    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, value, None)


def open_sealed(key: bytes, sealed: bytes) -> bytes | None:
    """Return the value; None if it is damaged or has another key."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
    except InvalidTag:
        return None
