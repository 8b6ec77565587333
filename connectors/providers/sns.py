"""Amazon SNS over HTTPS: messages that Amazon signed, of topics that the operator named."""

import json
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm
from cryptography.x509 import load_pem_x509_certificate

from connectors.errors import ForgedError

Fetch = Callable[[str], Awaitable[bytes]]
"""A small document at a public address."""

_HOST: Final = re.compile(r"sns\.[a-z0-9-]+\.amazonaws\.com(\.cn)?")
_NOTIFICATION: Final = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_CONFIRMATION: Final = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_CERTIFICATES: Final = 20


@dataclass(frozen=True, slots=True)
class Message:
    """A message that is genuine; `records`: the bucket's events in it."""

    id: str
    sent_at: datetime
    records: int


@dataclass(frozen=True, slots=True)
class Topics:
    """Checks messages, and confirms subscriptions to the topics with these names."""

    names: frozenset[str]
    fetch: Fetch
    _keys: dict[str, RSAPublicKey] = field(default_factory=dict, repr=False)

    async def checked(self, body: bytes) -> Message:
        """ForgedError for what Amazon did not sign, or another topic's."""
        try:
            told = json.loads(body)
            kind, topic = told["Type"], told["TopicArn"]
            message = Message(told["MessageId"], datetime.fromisoformat(told["Timestamp"]), _records(told))
        except (ValueError, KeyError, TypeError) as error:
            raise ForgedError("A delivery that is none of SNS's.") from error
        if topic not in self.names:
            raise ForgedError(f"The topic {topic} is not among those that are set.")
        await self._verify(told)
        if kind == "SubscriptionConfirmation":
            await self.fetch(_amazons(told["SubscribeURL"]))
        return message

    async def _verify(self, told: Mapping[str, Any]) -> None:
        names = _NOTIFICATION if told["Type"] == "Notification" else _CONFIRMATION
        text = "".join(f"{name}\n{told[name]}\n" for name in names if told.get(name) is not None)
        # Version 1 is SHA-1, which topics use until their owner chooses 2.
        digest: HashAlgorithm = SHA256() if told.get("SignatureVersion") == "2" else SHA1()  # noqa: S303 - Amazon's
        try:
            key = await self._key(_amazons(str(told.get("SigningCertURL", ""))))
            key.verify(b64decode(str(told.get("Signature", ""))), text.encode(), PKCS1v15(), digest)
        except (InvalidSignature, ValueError) as error:
            raise ForgedError("A delivery that Amazon did not sign.") from error

    async def _key(self, url: str) -> RSAPublicKey:
        if url not in self._keys:
            key = load_pem_x509_certificate(await self.fetch(url)).public_key()
            if not isinstance(key, RSAPublicKey):
                raise ForgedError("A delivery signed with a key of another kind.")
            if len(self._keys) >= _CERTIFICATES:
                self._keys.clear()
            self._keys[url] = key
        return self._keys[url]


def _amazons(url: str) -> str:
    """An address that a message names is asked only where it is SNS's own."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not _HOST.fullmatch(parts.netloc):
        raise ForgedError(f"A delivery that names {parts.netloc or 'no host'}, which is not SNS's.")
    return url


def _records(told: Mapping[str, Any]) -> int:
    """How many events; the message that tests a new notification has none."""
    if told["Type"] != "Notification":
        return 0
    message = json.loads(told["Message"])
    records = message.get("Records") if isinstance(message, dict) else None
    return len(records) if isinstance(records, list) else 0
