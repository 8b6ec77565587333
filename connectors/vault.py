"""Credentials at rest: sealed with the operator's key, each bound to the connector it belongs to."""

import asyncio
import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from connectors.errors import OperatorMistakeError
from pipeline.ports import Locks

if TYPE_CHECKING:
    # Imported where it is used: a service that nothing is connected to does without its memory.
    from cryptography.fernet import Fernet

KEY_BYTES = 32
Sealed = Mapping[str, Any]
"""What is kept of one connector: `config`, `tokens`, `authorization`, `subscription`, `picker`, `visit`."""


class VaultKeyError(OperatorMistakeError, ValueError):
    """The key can't be used; the message is for the operator."""


class Vault:
    """Seals with the first key, opens with any of them: add a new key in front to rotate."""

    ready = True

    def __init__(self, keys: str) -> None:
        self._given = [key.strip() for key in keys.split(",") if key.strip()]
        if not self._given or not all(map(_is_key, self._given)):
            raise VaultKeyError(
                "RECOLLECT_SECRET_KEY is not a list of keys. Each is 32 random bytes in URL-safe base64;"
                " make one with `recollect connectors key`."
            )

    def seal(self, connector: str, values: Sealed) -> str:
        """Ciphertext that only opens for this connector."""
        told = json.dumps({"of": connector, "is": dict(values)})
        return self._keys[0].encrypt(told.encode()).decode()

    def open(self, connector: str, sealed: str) -> dict[str, Any]:
        """VaultKeyError where no key fits, or where it was sealed for another connector."""
        from cryptography.fernet import InvalidToken, MultiFernet  # noqa: PLC0415 - see above

        try:
            opened = json.loads(MultiFernet(self._keys).decrypt(sealed))
        except InvalidToken as error:
            raise VaultKeyError(
                f"The credentials of connector {connector} can't be opened with RECOLLECT_SECRET_KEY."
                " Add the key they were sealed with to its end, or connect it again."
            ) from error
        if opened["of"] != connector:
            raise VaultKeyError(f"The credentials kept for connector {connector} belong to another one.")
        values: dict[str, Any] = opened["is"]
        return values

    def is_current(self, sealed: str) -> bool:
        """Whether the first key sealed it."""
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 - see above

        try:
            self._keys[0].decrypt(sealed)
        except InvalidToken:
            return False
        return True

    @cached_property
    def _keys(self) -> "list[Fernet]":
        from cryptography.fernet import Fernet  # noqa: PLC0415 - see above

        return [Fernet(key) for key in self._given]


def _is_key(key: str) -> bool:
    try:
        return len(urlsafe_b64decode(key)) == KEY_BYTES
    except ValueError:
        return False


def new_key() -> str:
    """A key for RECOLLECT_SECRET_KEY."""
    return urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()


def kept_key(path: Path) -> str:
    """The key in this file, which is made where it is missing and readable by its owner alone."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        file.write(new_key() + "\n")
        file.flush()
        os.fsync(file.fileno())
    return path.read_text().strip()


class NoVault:
    """Stands where there is no key yet: nothing can be connected, everything else goes on. VaultKeyError."""

    ready = False

    def seal(self, *_: object) -> str:
        """See above."""
        raise VaultKeyError(_NO_KEY)

    def open(self, *_: object) -> dict[str, Any]:
        """See above."""
        raise VaultKeyError(_NO_KEY)

    def is_current(self, *_: object) -> bool:
        """See above."""
        raise VaultKeyError(_NO_KEY)


_NO_KEY = (
    "RECOLLECT_SECRET_KEY is not set. Several processes share the credentials of connectors, so they need one"
    " key: make it with `recollect connectors key` and give it to each of them."
)


class _Kept(Protocol):
    async def sealed(self, connector: str) -> str | None: ...

    async def seal(self, connector: str, sealed: str) -> None: ...


class Secrets:
    """Each connector's secrets. Every read is fresh, every change is one step across processes."""

    def __init__(self, kept: _Kept, vault: Vault | NoVault, locks: Locks) -> None:
        self._kept = kept
        self._vault = vault
        self._locks = locks

    @property
    def ready(self) -> bool:
        """Whether there is a key."""
        return self._vault.ready

    async def read(self, connector: str) -> Sealed:
        """What is kept; empty where nothing is."""
        async with self._locks.hold(f"secrets/{connector}"):
            return await self._read(connector)

    async def change(self, connector: str, change: Callable[[dict[str, Any]], Sealed | None]) -> Sealed:
        """Read, change and keep; None from `change` leaves it as it is. What is there afterwards."""
        async with self._locks.hold(f"secrets/{connector}"):
            before = await self._read(connector)
            after = change(dict(before))
            if after is None:
                return before
            await self._kept.seal(connector, await asyncio.to_thread(self._vault.seal, connector, after))
            return after

    async def put(self, connector: str, name: str, value: Any) -> None:
        """Set one of them; None removes it."""

        def change(values: dict[str, Any]) -> Sealed:
            values.pop(name, None)
            return values if value is None else {**values, name: value}

        await self.change(connector, change)

    async def rotate(self, connector: str) -> bool:
        """Seal anew what an older key sealed; whether it had to be."""
        async with self._locks.hold(f"secrets/{connector}"):
            sealed = await self._kept.sealed(connector)
            if sealed is None or self._vault.is_current(sealed):
                return False
            await self._kept.seal(connector, self._vault.seal(connector, self._vault.open(connector, sealed)))
            return True

    async def _read(self, connector: str) -> dict[str, Any]:
        sealed = await self._kept.sealed(connector)
        return {} if sealed is None else self._vault.open(connector, sealed)
