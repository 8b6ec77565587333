"""Encryption of credentials at rest with the operator's key, bound to the connector they belong to."""

import asyncio
import json
import logging
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.errors import MisconfigurationError
from pipeline.errors import SettingsError
from pipeline.ports import Locks
from pipeline.store.tables.connector_state_table import ConnectorStateStore

if TYPE_CHECKING:
    # Imported on first use: a service without connectors does not pay for its memory.
    from cryptography.fernet import Fernet

KEY_BYTES = 32
ConnectorSecrets = Mapping[str, Any]
"""Secrets of one connector by name: config, tokens, authorization, subscription, picker, visit."""
_VERIFICATION_TOKENS = "verification_tokens"
"""Key in the secret store, in place of a connector's id, of the tokens that providers sent for the operator."""
log = logging.getLogger(__name__)


class VaultKeyError(MisconfigurationError, SettingsError):
    """Missing or wrong encryption key; the message is for the operator."""


class CredentialCipher:
    """Encrypts with the first key and decrypts with any: add a new key in front to rotate.

    Without keys (None) every call raises VaultKeyError.
    """

    def __init__(self, keys: str | None) -> None:
        self.has_key = keys is not None
        self._encoded_keys = [key.strip() for key in (keys or "").split(",") if key.strip()]
        if self.has_key and not (self._encoded_keys and all(map(_is_key, self._encoded_keys))):
            raise VaultKeyError(
                "RECOLLECT_SECRET_KEY is not a list of keys. Each is 32 random bytes in URL-safe base64;"
                " make one with `recollect connectors key`."
            )

    def encrypt(self, connector: str, values: ConnectorSecrets) -> str:
        """Encrypt the secrets of a connector; the ciphertext decrypts for this connector only."""
        plaintext = json.dumps({"connector": connector, "secrets": dict(values)})
        return self._keys[0].encrypt(plaintext.encode()).decode()

    def decrypt(self, connector: str, encrypted: str) -> dict[str, Any]:
        """Decrypt secrets; VaultKeyError if no key fits or they belong to another connector."""
        from cryptography.fernet import InvalidToken, MultiFernet  # noqa: PLC0415 - see above

        try:
            opened = json.loads(MultiFernet(self._keys).decrypt(encrypted))
        except InvalidToken as error:
            raise VaultKeyError(
                f"The credentials of connector {connector} can't be opened with RECOLLECT_SECRET_KEY."
                " Append the key they were encrypted with to it, or connect the account again."
            ) from error
        if opened["connector"] != connector:
            raise VaultKeyError(f"The credentials kept for connector {connector} belong to another one.")
        values: dict[str, Any] = opened["secrets"]
        return values

    def uses_current_key(self, encrypted: str) -> bool:
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 - see above

        try:
            self._keys[0].decrypt(encrypted)
        except InvalidToken:
            return False
        return True

    @cached_property
    def _keys(self) -> "list[Fernet]":
        if not self.has_key:
            raise VaultKeyError(
                "RECOLLECT_SECRET_KEY is not set. Several processes share the credentials of connectors, so they need"
                " one key: make it with `recollect connectors key` and give it to each of them."
            )
        from cryptography.fernet import Fernet  # noqa: PLC0415 - see above

        return [Fernet(key) for key in self._encoded_keys]


def _is_key(key: str) -> bool:
    try:
        return len(urlsafe_b64decode(key)) == KEY_BYTES
    except ValueError:
        return False


def generate_key() -> str:
    return urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()


def load_or_create_key(path: Path) -> str:
    """Return the key in a file, creating the file (readable by its owner only) if it is missing."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_keys(path)
    with os.fdopen(descriptor, "w") as file:
        file.write(generate_key() + "\n")
        file.flush()
        os.fsync(file.fileno())
    return _read_keys(path)


def _read_keys(path: Path) -> str:
    keys = path.read_bytes().decode("ascii", errors="replace").strip()
    if not all(_is_key(key.strip()) for key in keys.split(",")):
        raise VaultKeyError(
            f"{path} holds no key: that is 32 random bytes in URL-safe base64. Bring the file back from a backup;"
            " without one remove it, and connect each source again."
        )
    return keys


class SecretStore:
    """Secrets by connector; reads are never cached and updates are atomic across processes."""

    def __init__(self, table: ConnectorStateStore, cipher: CredentialCipher, locks: Locks) -> None:
        self._table = table
        self._cipher = cipher
        self._locks = locks

    @property
    def has_key(self) -> bool:
        return self._cipher.has_key

    async def read(self, connector: str) -> ConnectorSecrets:
        """Return a connector's secrets; empty if it has none."""
        async with self._locks.acquire(f"secrets/{connector}"):
            return await self._read(connector)

    async def update(
        self, connector: str, function: Callable[[dict[str, Any]], ConnectorSecrets | None]
    ) -> ConnectorSecrets:
        """Apply a function to the secrets and store its result; None leaves them unchanged.

        Returns the secrets stored afterwards.
        """
        async with self._locks.acquire(f"secrets/{connector}"):
            before = await self._read(connector)
            after = function(dict(before))
            if after is None:
                return before
            await self._table.store_encrypted(
                connector, await asyncio.to_thread(self._cipher.encrypt, connector, after)
            )
            return after

    async def set_value(self, connector: str, name: str, value: Any) -> None:
        """Set one secret; None removes it."""

        def change(values: dict[str, Any]) -> ConnectorSecrets:
            values.pop(name, None)
            return values if value is None else {**values, name: value}

        await self.update(connector, change)

    async def take(self, connector: str, name: str, is_match: Callable[[Mapping[str, Any]], bool]) -> Any | None:
        """Remove and return a secret that works once; None, and nothing removed, if it does not match."""
        taken: list[Any] = []

        def remove(values: dict[str, Any]) -> ConnectorSecrets | None:
            if name not in values or not is_match(values[name]):
                return None
            taken.append(values.pop(name))
            return values

        await self.update(connector, remove)
        return taken[0] if taken else None

    async def store_verification_token(self, provider: str, token: str) -> None:
        """Store the newest token that a provider sent for the operator; VaultKeyError without an encryption key."""
        await self.update(
            _VERIFICATION_TOKENS, lambda kept: None if kept.get(provider) == token else {**kept, provider: token}
        )

    async def verification_tokens(self) -> Mapping[str, str]:
        """List verification tokens by provider; empty without an encryption key."""
        return await self.read(_VERIFICATION_TOKENS) if self.has_key else {}

    async def rotate_keys(self, connectors: Iterable[str]) -> tuple[int, list[str]]:
        """Re-encrypt secrets with the newest key: the number re-encrypted, and the ids that no key decrypts."""
        rotated, unreadable = 0, []
        for connector in (_VERIFICATION_TOKENS, *connectors):
            try:
                rotated += await self._rotate_key(connector)
            except VaultKeyError as error:
                log.warning("%s", error)
                unreadable.append(connector)
        return rotated, unreadable

    async def _rotate_key(self, connector: str) -> bool:
        async with self._locks.acquire(f"secrets/{connector}"):
            sealed = await self._table.load_encrypted(connector)
            if sealed is None or self._cipher.uses_current_key(sealed):
                return False
            await self._table.store_encrypted(
                connector, self._cipher.encrypt(connector, self._cipher.decrypt(connector, sealed))
            )
            return True

    async def _read(self, connector: str) -> dict[str, Any]:
        sealed = await self._table.load_encrypted(connector)
        return {} if sealed is None else self._cipher.decrypt(connector, sealed)
