"""Amazon SNS over HTTPS: verification of signed messages from the operator's topics."""

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

from connectors.errors import WebhookVerificationError

FetchFunction = Callable[[str], Awaitable[bytes]]
"""Function that fetches a small public document."""

_SNS_HOST: Final = re.compile(r"sns\.[a-z0-9-]+\.amazonaws\.com(\.cn)?")
_NOTIFICATION_SIGNED_FIELDS: Final = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_CONFIRMATION_SIGNED_FIELDS: Final = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_MAX_CACHED_CERTIFICATES: Final = 20


@dataclass(frozen=True, slots=True)
class SnsMessage:
    id: str
    sent_at: datetime
    record_count: int


@dataclass(frozen=True, slots=True)
class SnsTopics:
    """Verifies messages and confirms subscriptions of the configured topics."""

    topic_arns: frozenset[str]
    fetch: FetchFunction
    _signing_keys: dict[str, RSAPublicKey] = field(default_factory=dict, repr=False)

    async def verify(self, body: bytes) -> SnsMessage:
        """Verify a message; WebhookVerificationError if it is not signed by Amazon or from another topic."""
        envelope = json.loads(body)
        kind, topic = envelope["Type"], envelope["TopicArn"]
        sent_at = datetime.fromisoformat(envelope["Timestamp"])
        message = SnsMessage(envelope["MessageId"], sent_at, _count_records(envelope))
        if topic not in self.topic_arns:
            raise WebhookVerificationError(f"The topic {topic} is not among those that are set.")
        await self._verify_signature(envelope)
        if kind == "SubscriptionConfirmation":
            await self.fetch(_require_sns_url(envelope["SubscribeURL"]))
        return message

    async def _verify_signature(self, envelope: Mapping[str, Any]) -> None:
        names = _NOTIFICATION_SIGNED_FIELDS if envelope["Type"] == "Notification" else _CONFIRMATION_SIGNED_FIELDS
        text = "".join(f"{name}\n{envelope[name]}\n" for name in names if envelope.get(name) is not None)
        # Version 1 is SHA-1, the default of topics until their owner chooses version 2.
        digest: HashAlgorithm = SHA256() if envelope.get("SignatureVersion") == "2" else SHA1()  # noqa: S303 - Amazon's
        try:
            key = await self._signing_key(_require_sns_url(str(envelope.get("SigningCertURL", ""))))
            key.verify(b64decode(str(envelope.get("Signature", ""))), text.encode(), PKCS1v15(), digest)
        except (InvalidSignature, ValueError) as error:
            raise WebhookVerificationError("A delivery that Amazon did not sign.") from error

    async def _signing_key(self, url: str) -> RSAPublicKey:
        if url not in self._signing_keys:
            key = load_pem_x509_certificate(await self.fetch(url)).public_key()
            if not isinstance(key, RSAPublicKey):
                raise WebhookVerificationError("A delivery signed with a key of another kind.")
            if len(self._signing_keys) >= _MAX_CACHED_CERTIFICATES:
                self._signing_keys.clear()
            self._signing_keys[url] = key
        return self._signing_keys[url]


def _require_sns_url(url: str) -> str:
    """Check that a URL in a message belongs to SNS."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not _SNS_HOST.fullmatch(parts.netloc):
        raise WebhookVerificationError(f"A delivery that names {parts.netloc or 'no host'}, which is not SNS's.")
    return url


def _count_records(envelope: Mapping[str, Any]) -> int:
    """Count the events in a message; the test message of a new notification has none."""
    if envelope["Type"] != "Notification":
        return 0
    message = json.loads(envelope["Message"])
    records = message.get("Records") if isinstance(message, dict) else None
    return len(records) if isinstance(records, list) else 0
