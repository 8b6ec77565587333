"""Amazon SNS as a sender: messages of S3's events, signed with a certificate of our own making."""

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_plus
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

TOPIC = "arn:aws:sns:eu-west-1:123456789012:bucket"
CERTIFICATE = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem"


class SnsDouble:
    """One topic. `asked`: the addresses that were fetched."""

    def __init__(self) -> None:
        self.fetched_urls: list[str] = []
        self._key = generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
        now = datetime.now(UTC)
        certificate = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self._key.public_key())
        certificate = certificate.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
        self._certificate = certificate.sign(self._key, SHA256()).public_bytes(Encoding.PEM)

    async def fetch(self, url: str) -> bytes:
        """Serve the signing certificate at any address."""
        self.fetched_urls.append(url)
        return self._certificate

    def message(self, body: Any, *, version: str = "1", **fields: str) -> bytes:
        """A notification with this in it."""
        return self._signed({"Type": "Notification", "Message": json.dumps(body), **fields}, version)

    def confirmation(self, **fields: str) -> bytes:
        """The question whether to subscribe."""
        url = f"https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=t"
        body = {"Type": "SubscriptionConfirmation", "Message": "You have chosen", "Token": "t"}
        return self._signed({**body, "SubscribeURL": url, **fields}, "1")

    def _signed(self, body: dict[str, str], version: str) -> bytes:
        common = {"MessageId": str(uuid4()), "Timestamp": "2026-03-01T12:00:00.000Z", "TopicArn": TOPIC}
        signed = {**common, "SigningCertURL": CERTIFICATE, **body}
        order = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
        text = "".join(f"{name}\n{signed[name]}\n" for name in order if name in signed)
        digest = SHA256() if version == "2" else SHA1()  # noqa: S303 - Amazon's first version
        signature = self._key.sign(text.encode(), PKCS1v15(), digest)
        message = {**signed, "SignatureVersion": version, "Signature": b64encode(signature).decode()}
        return json.dumps(message).encode()


def s3_event(key: str, *, name: str = "ObjectCreated:Put") -> dict[str, Any]:
    """An event of S3: its keys are encoded as forms are."""
    stored = {"bucket": {"name": "recollect"}, "object": {"key": quote_plus(key), "sequencer": "0A"}}
    return {"Records": [{"eventVersion": "2.4", "eventSource": "aws:s3", "eventName": name, "s3": stored}]}


def s3_test_event() -> dict[str, Any]:
    """Test event that S3 sends when a notification is set up."""
    return {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "recollect"}


s3_test_event.__test__ = False  # type: ignore[attr-defined]  # it is no test, pytest only thinks so
