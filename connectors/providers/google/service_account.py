"""Access of a Google service account that acts for users of its Workspace (domain-wide delegation)."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from connectors.client.access_token import RenewedTokenSource
from connectors.client.http_client import HttpClient
from connectors.client.json_answers import error_body
from connectors.errors import ConnectorError, MisconfigurationError, ProviderUnavailableError
from connectors.providers.common.signed_jwt import sign_jwt
from pipeline.ports import Clock

_GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_JWT_LIFETIME: Final = timedelta(hours=1)
_ALL_NAMESPACES: Final = "*"
_KEY_FIELDS: Final = ("client_email", "client_id", "private_key")
_DAMAGED_KEY: Final = (
    "The private key in RECOLLECT_GOOGLE_SERVICE_ACCOUNT is damaged. Make a new key of the service account."
)


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """Service account by its JSON key (or the path of that file), and the user it acts for by namespace."""

    json_key: str = field(repr=False)
    subjects: Mapping[str, str]
    token_url: str

    def key(self) -> Mapping[str, str]:
        """Return the parsed key; MisconfigurationError if it is none."""
        try:
            text = self.json_key if self.json_key.lstrip().startswith("{") else Path(self.json_key).read_text("utf-8")
            key = json.loads(text)
            if all(isinstance(key[name], str) for name in _KEY_FIELDS):
                return dict(key)
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = type(error).__name__
        else:
            reason = "a field is not text"
        raise MisconfigurationError(
            "RECOLLECT_GOOGLE_SERVICE_ACCOUNT is not the key of a service account"
            f" ({reason}). Set the JSON file that Google made for it, or its path."
        )

    def subject(self, namespace: str | None) -> str:
        """Return the user whose data a namespace reads; MisconfigurationError if the operator named nobody."""
        if namespace is None:
            raise ProviderUnavailableError("The namespace is not known to this process yet. The next run tries again.")
        found = self.subjects.get(namespace) or self.subjects.get(_ALL_NAMESPACES)
        if found is None:
            raise MisconfigurationError(
                f"No Google user is named for the namespace {namespace}. The operator adds it to"
                f" RECOLLECT_GOOGLE_SUBJECTS, such as {namespace}=ada@example.com."
            )
        return found


def parse_subjects(text: str | None) -> dict[str, str]:
    """Parse `namespace=address` pairs separated by commas; an address alone is everybody's."""
    found = {}
    for part in (text or "").split(","):
        namespace, separator, address = part.strip().rpartition("=")
        if address:
            found[namespace.strip() if separator else _ALL_NAMESPACES] = address.strip()
    return found


class DelegatedTokenSource(RenewedTokenSource):
    def __init__(
        self, account: ServiceAccount, http: HttpClient, namespace: str | None, scope: str, clock: Clock
    ) -> None:
        super().__init__(clock)
        self._account = account
        self._http = http
        self._namespace = namespace
        self._scope = scope

    async def _fetch_token(self) -> tuple[str, datetime]:
        key = await asyncio.to_thread(self._account.key)
        subject = self._account.subject(self._namespace)
        now = self._clock.now()
        url = f"{self._account.token_url}/token"
        claims = {"iss": key["client_email"], "sub": subject, "scope": self._scope, "aud": url}
        header = {"typ": "JWT"} | ({"kid": key["private_key_id"]} if "private_key_id" in key else {})
        assertion = await asyncio.to_thread(
            sign_jwt, claims, key["private_key"], now=now, lifetime=_JWT_LIFETIME, refusal=_DAMAGED_KEY, header=header
        )
        data = {"grant_type": _GRANT_TYPE, "assertion": assertion}
        answer = await self._http.request("POST", url, data=data, idempotent=True, without_token=True)
        body = error_body(answer)
        if answer.status_code >= 400 or "access_token" not in body:
            raise _token_error(body, key, subject, self._scope)
        return str(body["access_token"]), now + timedelta(seconds=int(body.get("expires_in") or 3600))


def _token_error(body: Mapping[str, Any], key: Mapping[str, str], subject: str, scope: str) -> ConnectorError:
    """Say what the operator, or the Workspace's administrator, has to do about a refused token."""
    code, detail = str(body.get("error", "")), str(body.get("error_description", ""))
    if code in {"unauthorized_client", "access_denied", "invalid_scope"}:
        return MisconfigurationError(
            f"Google does not let the service account act for users ({code}). In the Workspace's Admin console, under"
            " Security > Access and data control > API controls > Domain-wide delegation, an administrator adds the"
            f" client id {key['client_id']} with the scope {scope}; that takes effect within a day, mostly at once."
        )
    if code == "invalid_grant" and (
        "email" in detail.lower() or "user" in detail.lower() or "account" in detail.lower()
    ):
        return MisconfigurationError(
            f"Google knows no active user {subject} in this Workspace ({detail}). Correct RECOLLECT_GOOGLE_SUBJECTS."
        )
    if code == "invalid_grant" and "signature" in detail.lower():
        return MisconfigurationError(
            f"The key of the service account {key['client_email']} was deleted or is of another one. Make a new"
            " key, and set RECOLLECT_GOOGLE_SERVICE_ACCOUNT to it."
        )
    if code == "invalid_grant":
        return MisconfigurationError(
            f"Google refuses the service account: {detail or code}. Check this machine's clock."
        )
    if code in {"invalid_client", "deleted_client", "disabled_client"}:
        return MisconfigurationError(
            f"The service account {key['client_email']} does not exist any more or is disabled ({code})."
        )
    return ProviderUnavailableError(f"Google gave no token now ({code or 'no reason'}). The next run tries again.")
