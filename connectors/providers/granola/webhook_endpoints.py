"""Granola's webhooks: endpoints that a key creates, and deliveries signed as Standard Webhooks describes."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from connectors.client.http_client import HttpClient
from connectors.errors import WebhookVerificationError
from connectors.provider_interface import ChangeHint, VerifiedDelivery, WebhookDelivery, WebhookSubscription

ENDPOINTS_PATH: Final = "/v1/webhook-endpoints"
_EVENTS: Final = ("note.generated", "note.edited", "note.access_granted")
_SCOPES: Final = (("personal", "public"), ("personal",), ("public",), ("workspace",))
"""Scopes in the order tried: a key may subscribe to no more than it may read, and its own are not told."""
_REFUSED_SCOPE: Final = frozenset({400, 403, 422})
_MAX_FOLDERS: Final = 100
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what secrets begin with
_SIGNATURE_VERSION: Final = "v1"


async def create_endpoint(
    http: HttpClient, api_url: str, headers: dict[str, str], callback_url: str, folders: Sequence[str]
) -> WebhookSubscription | None:
    """Create an endpoint; None if the plan or the key does not allow one, so that notes are polled."""
    limited = {"folder_ids": list(folders)} if 0 < len(folders) <= _MAX_FOLDERS else {}
    for scopes in _SCOPES:
        body = {"url": callback_url, "scopes": list(scopes), "events": list(_EVENTS)} | limited
        answer = await http.request("POST", f"{api_url}{ENDPOINTS_PATH}", json=body, headers=headers)
        if answer.status_code < 400:
            return _subscription(answer.json())
        if answer.status_code not in _REFUSED_SCOPE:
            return None  # other scopes would fail alike
    return None


def _subscription(created: Any) -> WebhookSubscription | None:
    """Return the endpoint with its secret, which Granola tells only now."""
    if not isinstance(created, dict) or not created.get("id") or not created.get("signing_secret"):
        return None
    return WebhookSubscription(str(created["id"]), str(created["signing_secret"]))


async def delete_endpoint(http: HttpClient, api_url: str, headers: dict[str, str], id_: str) -> None:
    """Delete an endpoint; one that is gone, or that the key may not manage any more, is not an error."""
    await http.request("DELETE", f"{api_url}{ENDPOINTS_PATH}/{quote(id_, safe='')}", headers=headers)


def verify(delivery: WebhookDelivery) -> VerifiedDelivery:
    """Verify the signature, and return what the event asks for.

    A note to which access was granted keeps its old time, so only a complete listing finds it.
    """
    if delivery.subscription is None:
        raise WebhookVerificationError("A delivery for an endpoint that is not open.")
    id_, timestamp, given = (delivery.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not id_ or not timestamp.isdigit():
        raise WebhookVerificationError("A delivery without its id or time.")
    signed = f"{id_}.{timestamp}.".encode() + delivery.body
    expected = hmac.new(_key(delivery.subscription.secret), signed, hashlib.sha256).digest()
    if not any(hmac.compare_digest(expected, signature) for signature in _signatures(given)):
        raise WebhookVerificationError("A delivery that is not signed with the endpoint's secret.")
    sent_at = datetime.fromtimestamp(int(timestamp), UTC)
    event = json.loads(delivery.body)["event_type"]
    hints = (ChangeHint(requires_full_sync=event == "note.access_granted"),) if event.startswith("note.") else ()
    return VerifiedDelivery(hints=hints, delivery_id=id_, sent_at=sent_at)


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return secret.encode()


def _signatures(header: str) -> list[bytes]:
    """Return the signatures of the known version; there are several while a secret is rotated."""
    found = []
    for part in header.split():
        version, _, encoded = part.partition(",")
        if version == _SIGNATURE_VERSION:
            try:
                found.append(base64.b64decode(encoded, validate=True))
            except (binascii.Error, ValueError):
                continue
    return found
