"""Custody of the wrapping keys: a file with one a line, as it is or encrypted by a key management service."""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.runtime.durable_files import TEMPORARY_SUFFIX, fsync, write_durably

if TYPE_CHECKING:
    from pipeline.bus.sealing.vault_transit import VaultTransit

KEY_BYTES = 32
_SERVICE_MARK = ":"
"""In every ciphertext of a key management service (`vault:v1:…`), and in no base64."""


class SealingKeyError(ValueError):
    """The key file or a wrapped key can't be used; the message is for the operator."""


class KeyFile:
    """Wrapping keys in a file, the current one first. Synchronous: for a thread."""

    def __init__(self, path: Path, service: "VaultTransit | None" = None) -> None:
        self.path = path
        self._service = service

    def read(self, *, create: bool = False) -> list[bytes]:
        """Return the keys; `create` makes a missing file. SealingKeyError, OutageError."""
        if create and not self.path.exists():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._create(self._encode(os.urandom(KEY_BYTES)))
        keys = [self._decode(line) for line in self._lines()]
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise SealingKeyError(f"{self.path} must hold keys of 32 random bytes in URL-safe base64, one a line.")
        return keys

    def write(self, keys: Sequence[bytes]) -> None:
        """Replace the keys; only the owner may read the file."""
        self._write([self._encode(key) for key in keys])

    def rewrap(self) -> int:
        """Let the service encrypt its lines under the newest version of its key; return how many changed."""
        if self._service is None:
            raise SealingKeyError("No key management service is set: see RECOLLECT_SEALING_VAULT_ADDRESS.")
        lines = self._lines()
        changed = [self._service.rewrap(line) if _SERVICE_MARK in line else line for line in lines]
        self._write(changed)
        return sum(old != new for old, new in zip(lines, changed, strict=True))

    def close(self) -> None:
        if self._service is not None:
            self._service.close()

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text().split()
        except (OSError, ValueError) as error:
            raise SealingKeyError(f"The sealing key file {self.path} can't be read: {error}.") from error

    def _write(self, lines: Sequence[str]) -> None:
        write_durably(self.path, "".join(f"{line}\n" for line in lines).encode())

    def _create(self, line: str) -> None:
        """Make the file whole in one step; one that another process makes at the same moment stays."""
        partial = self.path.with_name(f"{self.path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
        write_durably(partial, f"{line}\n".encode())
        with suppress(FileExistsError):
            os.link(partial, self.path)
        partial.unlink()
        fsync(self.path.absolute().parent)

    def _encode(self, key: bytes) -> str:
        return urlsafe_b64encode(key).decode() if self._service is None else self._service.encrypt(key)

    def _decode(self, line: str) -> bytes:
        if _SERVICE_MARK not in line:
            try:
                return urlsafe_b64decode(line)
            except ValueError as error:
                raise SealingKeyError(f"The sealing key file {self.path} can't be read: {error}.") from error
        if self._service is None:
            raise SealingKeyError(
                f"The keys in {self.path} are encrypted by Vault: set RECOLLECT_SEALING_VAULT_ADDRESS."
            )
        return self._service.decrypt(line)
