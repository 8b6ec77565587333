"""A double of HashiCorp Vault's transit engine, as its HTTP interface is documented; hostile on request."""

import json
import os
import re
from base64 import b64decode, b64encode
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TOKEN = "hvs.of-the-tests"
_CIPHERTEXT = re.compile(r"vault:v(\d+):(.+)")
_PATH = re.compile(r"/v1/transit/(encrypt|decrypt|rewrap)/recollect")
_PERMISSION_DENIED = 403, {"errors": ["1 error occurred:\n\t* permission denied\n\n"]}


class VaultDouble:
    """One transit key with versions. `trouble`: what the next requests get, "hang", a status, or a body as it is."""

    def __init__(self) -> None:
        self._versions = [AESGCM(os.urandom(32))]
        self.min_decryption_version = 1
        self.trouble: list[str | int | bytes] = []
        self.operations: list[str] = []

    def rotate(self) -> None:
        """Add a version of the key, as an operator does."""
        self._versions.append(AESGCM(os.urandom(32)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message.get("more_body"):
                break
        trouble = self.trouble.pop(0) if self.trouble else None
        if trouble == "hang":
            await receive()  # until the client gives up
            return
        if isinstance(trouble, int):
            status, answer = trouble, json.dumps({"errors": ["Vault is sealed"]}).encode()
        else:
            status, found = self._answer(scope, json.loads(body))
            answer = trouble if isinstance(trouble, bytes) else json.dumps(found).encode()
        headers = [(b"content-type", b"application/json"), (b"location", b"http://127.0.0.1:9/")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def _answer(self, scope: Any, body: dict[str, str]) -> tuple[int, Any]:
        path = _PATH.fullmatch(scope["path"])
        if path is None or dict(scope["headers"]).get(b"x-vault-token") != TOKEN.encode():
            return _PERMISSION_DENIED
        self.operations.append(path[1])
        if path[1] == "encrypt":
            return 200, {"data": self._encrypt(b64decode(body["plaintext"], validate=True))}
        try:
            plaintext = self._decrypt(body["ciphertext"])
        except ValueError as error:
            return 400, {"errors": [str(error)]}
        if path[1] == "rewrap":
            return 200, {"data": self._encrypt(plaintext)}
        return 200, {"data": {"plaintext": b64encode(plaintext).decode()}}

    def _encrypt(self, plaintext: bytes) -> dict[str, Any]:
        version, nonce = len(self._versions), os.urandom(12)
        sealed = b64encode(nonce + self._versions[-1].encrypt(nonce, plaintext, None)).decode()
        return {"ciphertext": f"vault:v{version}:{sealed}", "key_version": version}

    def _decrypt(self, ciphertext: str) -> bytes:
        found = _CIPHERTEXT.fullmatch(ciphertext)
        if found is None:
            raise ValueError("invalid ciphertext: no prefix")
        version, sealed = int(found[1]), b64decode(found[2])
        if version < self.min_decryption_version:
            raise ValueError("ciphertext or signature version is disallowed by policy (too old)")
        try:
            return self._versions[version - 1].decrypt(sealed[:12], sealed[12:], None)
        except (InvalidTag, IndexError) as error:
            raise ValueError("cipher: message authentication failed") from error
