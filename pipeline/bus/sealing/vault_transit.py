"""Key management by the transit engine of HashiCorp Vault, over its HTTP interface."""

from base64 import b64decode, b64encode
from time import sleep
from typing import Any

import httpx2

from pipeline.bus.sealing.key_file import SealingKeyError
from pipeline.errors import OutageError

TIMEOUT_SECONDS = 5.0
ATTEMPTS = 3
_PAUSE_SECONDS = 0.5
_MAX_REASON_CHARS = 300


class VaultTransit:
    """One named key of a transit engine, which never leaves it, encrypts keys. Synchronous: for a thread.

    OutageError if Vault does not answer, is sealed or fails; SealingKeyError if it refuses.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        key: str,
        mount: str = "transit",
        timeout_seconds: float = TIMEOUT_SECONDS,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        self._url = f"{address.rstrip('/')}/v1/{mount.strip('/')}"
        self._key = key
        self._pause_seconds = pause_seconds
        # Redirects are not followed: the token would go with them.
        self._client = httpx2.Client(timeout=timeout_seconds, headers={"X-Vault-Token": token})

    def encrypt(self, key: bytes) -> str:
        return self._ask("encrypt", "ciphertext", plaintext=b64encode(key).decode())

    def decrypt(self, ciphertext: str) -> bytes:
        try:
            return b64decode(self._ask("decrypt", "plaintext", ciphertext=ciphertext), validate=True)
        except ValueError as error:
            raise SealingKeyError(f"Vault's answer is not a key: {error}.") from error

    def rewrap(self, ciphertext: str) -> str:
        return self._ask("rewrap", "ciphertext", ciphertext=ciphertext)

    def close(self) -> None:
        self._client.close()

    def _ask(self, operation: str, wanted: str, **body: str) -> str:
        reason = ""
        for attempt in range(ATTEMPTS):
            sleep(attempt * self._pause_seconds)
            try:
                answer = self._client.post(f"{self._url}/{operation}/{self._key}", json=body)
            except httpx2.RequestError as error:
                reason = f"{type(error).__name__} {error}"
                continue
            if answer.status_code == httpx2.codes.OK:
                return _field(answer, wanted)
            reason = f"{answer.status_code} {_errors(answer)}"
            if answer.status_code < httpx2.codes.INTERNAL_SERVER_ERROR and answer.status_code not in {429, 473}:
                raise SealingKeyError(
                    f"Vault refuses to {operation} with the transit key {self._key}: {reason}. Check the token's policy"
                    " and RECOLLECT_SEALING_VAULT_KEY."
                )
        raise OutageError(f"Vault at {self._url} does not {operation}: {reason}")


def _field(answer: httpx2.Response, name: str) -> str:
    try:
        value: Any = answer.json()["data"][name]
    except (ValueError, KeyError, TypeError) as error:
        raise SealingKeyError(f"Vault's answer has no {name}.") from error
    if not isinstance(value, str):
        raise SealingKeyError(f"Vault's answer has no {name}.")
    return value


def _errors(answer: httpx2.Response) -> str:
    """Return Vault's own reasons, if the answer has any."""
    try:
        return "; ".join(map(str, answer.json()["errors"]))[:_MAX_REASON_CHARS]
    except (ValueError, KeyError, TypeError):
        return "without a reason"
