"""Credentials of a bucket: access keys, keys of a session, the role of this service, or none."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Protocol

from connectors.errors import MisconfigurationError, UnusableSourceError

ANONYMOUS_KEY: Final = "anonymous"
"""Access key id of a public bucket, whose requests are not signed."""
ROLE_KEY: Final = "role"
"""Access key id that stands for the role of this service."""


class SigningKeys(Protocol):
    access_key: str
    secret_key: str
    token: str | None


class ServiceRole:
    """Role of this service: of the machine, the container, a web identity, or the environment.

    botocore finds it and renews its keys, and is the only one that asks the metadata addresses of a cloud, which
    nothing that a customer enters can reach. `buckets` are the operator's: names at Amazon, `<endpoint>/<name>`
    elsewhere.
    """

    def __init__(self, buckets: frozenset[str]) -> None:
        self._buckets = buckets
        self._lock = Lock()
        self._found: Any = None

    def allows(self, bucket: str, endpoint: str) -> bool:
        """Return whether the operator lets connectors read a bucket with the role."""
        return (f"{endpoint.rstrip('/')}/{bucket}" if endpoint else bucket) in self._buckets

    def current_keys(self) -> SigningKeys:
        """Return valid keys; MisconfigurationError if there are none. Blocks while they are renewed."""
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - slow to import, and needed with a role only

        try:
            with self._lock:
                # A role that isn't there yet is looked for again: the machine may be given one later.
                self._found = found = self._found or _credentials_of_the_service()
            keys: SigningKeys | None = found and found.get_frozen_credentials()
        except BotoCoreError as error:
            raise MisconfigurationError(f"The role of this service provides no keys: {error}") from error
        if keys is None:
            raise MisconfigurationError(
                "This service has no role of its own. Its operator has to give it one (of the machine, the container"
                " or a web identity)."
            )
        return keys


def _credentials_of_the_service() -> Any:
    from botocore.session import Session  # noqa: PLC0415 - see above

    return Session().get_credentials()


@dataclass(frozen=True, slots=True)
class BucketCredentials:
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    role: ServiceRole | None = None

    @classmethod
    def of_connector(
        cls, secrets: Mapping[str, str], role: ServiceRole | None, bucket: str, endpoint: str
    ) -> "BucketCredentials":
        """Read a connector's secrets; UnusableSourceError for a role that may not be used for this bucket.

        The interface has no field for a session's token: it follows the access key id after a space.
        """
        key, _, token = secrets["accessKeyId"].partition(" ")
        if key != ROLE_KEY:
            role = None
        elif role is None or not role.allows(bucket, endpoint):
            raise UnusableSourceError(
                f"The role of this service may not be used for {bucket}: give access keys, or ask the operator to"
                " name the bucket in RECOLLECT_S3_ROLE_BUCKETS."
            )
        return cls(key, secrets["secretAccessKey"], token.strip() or secrets.get("sessionToken"), role)

    @property
    def is_anonymous(self) -> bool:
        return self.access_key_id == ANONYMOUS_KEY

    async def sign(self, url: str, region: str) -> dict[str, str]:
        """Return the headers that sign a GET; none for a public bucket."""
        if self.is_anonymous:
            return {}
        # Imported on first use: slow to import, and needed only with an S3 connector.
        from botocore.auth import S3SigV4Auth  # noqa: PLC0415 - see above
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - see above
        from botocore.credentials import Credentials  # noqa: PLC0415 - see above

        request = AWSRequest("GET", url)
        keys = Credentials(self.access_key_id, self.secret_access_key, self.session_token)
        signing: Any = keys if self.role is None else await asyncio.to_thread(self.role.current_keys)
        S3SigV4Auth(signing, "s3", region).add_auth(request)
        return dict(request.headers.items())
