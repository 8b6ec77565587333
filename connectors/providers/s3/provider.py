"""S3 provider, also for compatible services: the objects of a bucket or of a prefix in it.

A bucket has no change feed. Its listing returns a thousand objects per request with their ETags, so every run
lists all objects, reads the changed ones, and removes those that a complete listing lacks. Notifications only
trigger a run.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, unquote_plus, urlencode

import httpx2
from lxml import etree

from connectors import errors
from connectors.client.concurrent_map import map_concurrently
from connectors.client.json_answers import PageTrail
from connectors.client.request_throttle import RateLimit
from connectors.provider_interface import ChangeHint, Connection, Provider, VerifiedDelivery, WebhookDelivery
from connectors.providers.common.file_metadata import file_refusal
from connectors.providers.common.item_fetcher import ItemFetcher, item_response
from connectors.providers.s3.credentials import BucketCredentials, ServiceRole
from connectors.providers.s3.sns import SnsTopics
from connectors.sync_messages import Checkpoint, Cursor, ItemFile, RemovedItem, SourceItem, SyncMessage, SyncState
from pipeline.parsing.mail.mail_text import decode_header_value
from schemas.base import Metadata, parse_header_time
from schemas.limits import MAX_FILE_BYTES

_LARGE_OBJECT_BYTES: Final = 1024 * 1024
_CONCURRENCY: Final = 16
_USER_METADATA_PREFIX: Final = "x-amz-meta-"
_MAX_USER_METADATA_CHARACTERS: Final = 2048
"""S3's limit of user metadata."""
_MAX_LISTING_BYTES: Final = 16 * 1024 * 1024
_CUSTOMER_KEY_MESSAGE: Final = (
    "The object is encrypted with a key of yours (SSE-C), which is not given to this service. "
    "Store it with a key that S3 manages."
)
_OBJECT_ERRORS: Final = {
    "AccessDenied": (
        "forbidden",
        "The access key may not read this object. Grant s3:GetObject, and kms:Decrypt if KMS encrypts it.",
    ),
    "InvalidObjectState": ("archived", "The object is archived. Restore it first."),
    "KMS": ("encrypted", "The object's KMS key can't be used. Enable the key, and grant kms:Decrypt."),
    "MethodNotAllowed": ("not_allowed", "The storage does not allow reading this object: it may be a delete marker."),
}
"""Failures of one object by the storage's code, or by what stands before a dot in it."""
_CREDENTIAL_ERRORS: Final = frozenset(
    {"ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "TokenRefreshRequired", "InvalidToken"}
)
_THROTTLING_ERRORS: Final = frozenset({"SlowDown", "ServiceUnavailable", "RequestLimitExceeded"})
_WRONG_REGION_ERRORS: Final = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "TemporaryRedirect"})


@dataclass(frozen=True, slots=True)
class S3Object:
    """Object in a listing; `etag` identifies its content, but is not always a hash of it."""

    key: str
    etag: str
    size: int
    last_modified: datetime

    @property
    def version(self) -> str:
        return f"{self.etag} {self.size} {self.last_modified.isoformat(timespec='seconds')}"


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """Page of a listing, ordered by key."""

    objects: Sequence[S3Object]
    continuation_token: str | None


class S3(Provider):
    """S3 with the customer's bucket and keys, or the service's `role`; events need the operator's SNS `topics`."""

    name = "s3"
    rate_limit = RateLimit(requests_per_second=100.0, max_concurrent=_CONCURRENCY, burst=100)

    def __init__(self, topics: SnsTopics | None = None, role: ServiceRole | None = None) -> None:
        self._topics = topics
        self._role = role
        self.supports_webhooks = topics is not None

    def classify_error(self, response: httpx2.Response) -> Exception | None:
        """Classify 503, which S3 uses for throttling."""
        if response.status_code == 503 and _error_field(response) in _THROTTLING_ERRORS:
            return errors.RateLimitedError("The storage asks us to slow down.")
        return None

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        """List the bucket; a killed complete listing resumes after its last key, others start again."""
        complete = cursor is None or "after" in cursor
        after = str(cursor["after"]) if cursor and "after" in cursor else ""
        bucket = BucketClient(connection, self._role)
        left = set() if complete else {id_ async for id_, _ in state.item_versions()}
        async for listing in bucket.list_objects(after):
            objects = [stored for stored in listing.objects if not stored.key.endswith("/")]
            left -= {bucket.item_id(stored.key) for stored in objects}
            changed_ids = await state.select_changed(
                [(bucket.item_id(stored.key), stored.version) for stored in objects]
            )
            chosen = [stored for stored in objects if bucket.item_id(stored.key) in changed_ids]
            async for step in _fetch_objects(bucket, chosen):
                yield step
            if listing.objects:
                yield Checkpoint({"after": listing.objects[-1].key} if complete else {})
        for gone in sorted(left):
            yield RemovedItem(gone)
        yield Checkpoint({})

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Verify a notification signed by SNS, from one of the operator's topics."""
        if self._topics is None:
            raise errors.WebhookVerificationError("No topic is set from which notifications of S3 are taken.")
        message = await self._topics.verify(delivery.body)
        hints = (ChangeHint(),) if message.record_count else ()
        return VerifiedDelivery(hints, message.id, message.sent_at)


class BucketClient:
    def __init__(self, connection: Connection, role: ServiceRole | None = None) -> None:
        config, endpoint = connection.config, str(connection.config.get("endpoint") or "")
        self._http = connection.http
        self.name = str(config["bucket"])
        self.region = str(config["region"])
        self._prefix = str(config.get("prefix") or "")
        self._bucket_url = _bucket_url(self.name, self.region, endpoint)
        self._credentials = BucketCredentials.of_connector(connection.secrets, role, self.name, endpoint)
        self._fetcher = ItemFetcher("The storage", self._probe)

    def item_id(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    async def list_objects(self, start_after: str) -> AsyncIterator[ObjectPage]:
        """Iterate pages of the objects after a key."""
        await self._settle_prefix()
        asked = {"list-type": "2", "max-keys": "1000", "encoding-type": "url"}
        if self._prefix:
            asked["prefix"] = self._prefix
        place = {"start-after": start_after} if start_after else {}
        trail = PageTrail("The storage")
        while True:
            listing = parse_listing(await self._list({**asked, **place}))
            yield listing
            token = trail.follow(listing.continuation_token)
            if token is None:
                return
            place = {"continuation-token": token}

    async def _settle_prefix(self) -> None:
        """Leave out slashes in front of the prefix, as in a path, unless keys begin with them."""
        if self._prefix.startswith("/") and not parse_listing(await self._probe()).objects:
            self._prefix = self._prefix.lstrip("/")

    async def fetch_item(self, stored: S3Object) -> SyncMessage:
        """Fetch an object as an item, a removal or a failure."""
        name = PurePosixPath(stored.key).name
        return await self._fetcher.fetch(self.item_id(stored.key), name, lambda: self._read_object(stored))

    async def _read_object(self, stored: S3Object) -> SourceItem | RemovedItem:
        name = PurePosixPath(stored.key).name
        if "." in name or not stored.size:
            _require_readable(name, None, stored.size)
        answer = await self._signed_get(stored.key, {}, max_bytes=MAX_FILE_BYTES)
        if answer.status_code >= 300:
            return self._missing_or_raise(stored, answer)
        media = answer.headers.get("content-type", "")
        _require_readable(name, media, len(answer.content))
        return self._object_item(_as_fetched(stored, answer), answer.content, media, _user_metadata(answer.headers))

    async def _list(self, query: Mapping[str, str]) -> bytes:
        answer = await self._signed_get("", query, max_bytes=_MAX_LISTING_BYTES)
        if answer.status_code >= 300:
            raise self._bucket_error(answer)
        return answer.content

    async def _probe(self) -> bytes:
        """List one object, which works whenever the storage does."""
        return await self._list(
            {"list-type": "2", "max-keys": "1"} | ({"prefix": self._prefix} if self._prefix else {})
        )

    async def _signed_get(self, key: str, query: Mapping[str, str], max_bytes: int) -> httpx2.Response:
        path = quote(key, safe="/~")
        asked = f"?{urlencode(sorted(query.items()), quote_via=quote)}" if query else ""
        headers = await self._credentials.sign(f"{self._bucket_url}/{path}{asked}", self.region)
        # HTTP clients resolve dot segments, which are ordinary names in keys; the signature is of the decoded key.
        sent = "/".join(
            segment.replace(".", "%2E") if segment in {".", ".."} else segment for segment in path.split("/")
        )
        return await self._http.get(
            f"{self._bucket_url}/{sent}{asked}", headers=headers, max_bytes=max_bytes, signed=True
        )

    def _object_item(self, stored: S3Object, data: bytes, media: str, user_metadata: Mapping[str, str]) -> SourceItem:
        name = PurePosixPath(stored.key).name
        kind = media.partition(";")[0].strip().lower()
        generic = kind in {"", "application/octet-stream", "binary/octet-stream"}
        metadata: Metadata = {
            **user_metadata,
            "type": "file",
            "bucket": self.name,
            "path": stored.key,
            "size": stored.size,
            "updatedAt": stored.last_modified.isoformat(),
        }
        if not generic:
            metadata["mimeType"] = kind
        return SourceItem(
            self.item_id(stored.key),
            stored.version,
            name,
            file=ItemFile(data, name, None if generic else media),
            url=self.item_id(stored.key),
            metadata=metadata,
            date=stored.last_modified,
        )

    def _missing_or_raise(self, stored: S3Object, answer: httpx2.Response) -> RemovedItem:
        """Return the removal of an object that is gone; raise the failure of the object or of the credentials."""
        code = _error_field(answer)
        if code == "NoSuchKey":
            return RemovedItem(self.item_id(stored.key))
        if code in _CREDENTIAL_ERRORS | _WRONG_REGION_ERRORS or code in {"NoSuchBucket", "RequestTimeTooSkewed"}:
            raise self._bucket_error(answer)
        for known, (name, message) in _OBJECT_ERRORS.items():
            if code == known or code.startswith(f"{known}."):
                raise errors.ItemError(message, code=name, retryable=True)
        if "server side encryption" in _error_field(answer, "Message").lower():
            raise errors.ItemError(_CUSTOMER_KEY_MESSAGE, code="encrypted", retryable=True)
        item_response(answer, "The storage")
        raise errors.ItemError(f"The storage answered {answer.status_code} for this object.", retryable=True)

    def _bucket_error(self, answer: httpx2.Response) -> errors.ConnectorError:
        code = _error_field(answer)
        if code in _CREDENTIAL_ERRORS:
            return errors.AuthExpiredError(
                f"The storage does not accept the access key ({code}). Connect again with a valid one."
            )
        if code == "AccessDenied" and self._credentials.is_anonymous:
            return errors.UnusableSourceError(
                f"The bucket {self.name} is not public, or may not be listed. Give access keys."
            )
        if code == "AccessDenied":
            return errors.UnusableSourceError(f"The access key may not list {self.name}. Grant s3:ListBucket.")
        if code == "NoSuchBucket":
            return errors.UnusableSourceError(f"There is no bucket {self.name} in {self.region}.")
        if code in _WRONG_REGION_ERRORS or answer.status_code in {301, 307}:
            region = answer.headers.get("x-amz-bucket-region", "another region")
            return errors.UnusableSourceError(
                f"The bucket {self.name} is in {region}. Connect it again with that region."
            )
        if code == "RequestTimeTooSkewed":
            return errors.MisconfigurationError("The clock of this service is wrong; its operator has to set it.")
        return errors.ProviderUnavailableError(
            f"{answer.url.host} answered {answer.status_code} {code}. The next run tries again."
        )


def _require_readable(name: str, media: str | None, size: int) -> None:
    """Raise ItemError for a file that holds no text or is too large."""
    if refusal := file_refusal(name, media, size):
        raise refusal


async def _fetch_objects(bucket: BucketClient, objects: Sequence[S3Object]) -> AsyncIterator[SyncMessage]:
    """Fetch small objects concurrently and large ones one by one, to bound memory."""
    small = [stored for stored in objects if stored.size <= _LARGE_OBJECT_BYTES]
    async for step in map_concurrently(small, bucket.fetch_item, _CONCURRENCY):
        yield step
    for stored in objects:
        if stored.size > _LARGE_OBJECT_BYTES:
            yield await bucket.fetch_item(stored)


def parse_listing(xml: bytes) -> ObjectPage:
    """Parse a ListObjectsV2 response; ProviderUnavailableError if it is malformed."""
    root = _parse_xml(xml)
    if root is None or etree.QName(root).localname != "ListBucketResult":
        raise errors.ProviderUnavailableError("The storage sent no valid listing. The next run tries again.")
    try:
        # XML can't represent all keys, so we ask for encoded ones; a storage that gives them says so.
        decode = unquote_plus if root.findtext("{*}EncodingType") == "url" else str
        objects = [_parse_object(entry, decode) for entry in root.iterfind("{*}Contents")]
    except ValueError as error:
        message = "The storage lists an object without its key, size or time. The next run tries again."
        raise errors.ProviderUnavailableError(message) from error
    token = root.findtext("{*}NextContinuationToken") or None
    if token is None and (root.findtext("{*}IsTruncated") or "").strip().lower() == "true":
        raise errors.ProviderUnavailableError(
            "The storage cut its listing short and does not say how it goes on. It has to support ListObjectsV2."
        )
    return ObjectPage(objects, token)


def _parse_object(entry: etree._Element, decode: Callable[[str], str]) -> S3Object:
    def text(name: str) -> str:
        return str(entry.findtext(f"{{*}}{name}") or "")

    if not text("Key"):
        raise ValueError("an object without a key")
    return S3Object(
        key=decode(text("Key")),
        etag=text("ETag").strip('"'),
        size=int(text("Size") or 0),
        last_modified=datetime.fromisoformat(text("LastModified")),
    )


def _error_field(answer: httpx2.Response, name: str = "Code") -> str:
    root = _parse_xml(answer.content)
    return "" if root is None else str(root.findtext(f"{{*}}{name}") or "")


def _parse_xml(data: bytes) -> etree._Element | None:
    """Parse XML from an untrusted server, without network access or entity expansion."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None


def _bucket_url(bucket: str, region: str, endpoint: str) -> str:
    """Return the bucket's URL: host-style at Amazon if its certificate permits, else path-style."""
    if endpoint:
        return f"{endpoint.rstrip('/')}/{bucket}"
    host = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://s3.{region}.{host}/{bucket}" if "." in bucket else f"https://{bucket}.s3.{region}.{host}"


def _user_metadata(headers: httpx2.Headers) -> dict[str, str]:
    """Return user metadata; values outside ASCII are encoded words (RFC 2047)."""
    metadata: dict[str, str] = {}
    for name, value in headers.items():
        if (
            name.startswith(_USER_METADATA_PREFIX)
            and sum(map(len, metadata.values())) + len(value) <= _MAX_USER_METADATA_CHARACTERS
        ):
            metadata[name.removeprefix(_USER_METADATA_PREFIX)] = decode_header_value(value)
    return metadata


def _as_fetched(stored: S3Object, answer: httpx2.Response) -> S3Object:
    """Update an object from the response, which may be newer than the listing."""
    etag = answer.headers.get("etag", "").strip('"') or stored.etag
    changed = parse_header_time(answer.headers.get("last-modified", "")) or stored.last_modified
    return replace(stored, etag=etag, size=len(answer.content), last_modified=changed)
