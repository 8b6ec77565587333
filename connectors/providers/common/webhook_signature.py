"""Signature of webhook deliveries with a shared secret, as GitHub and Notion make it."""

import hmac
from hashlib import sha256

from connectors.errors import WebhookVerificationError


def sign_delivery(secret: str, body: bytes) -> str:
    """Compute the signature over the raw body."""
    return "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()


def require_signature(secret: str | None, body: bytes, given: str, refusal: str) -> None:
    """Raise WebhookVerificationError with the `refusal` unless the signature is the secret's."""
    if not secret or not hmac.compare_digest(given.encode(), sign_delivery(secret, body).encode()):
        raise WebhookVerificationError(refusal)
