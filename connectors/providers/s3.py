"""S3, and what speaks like it: the objects of a bucket, or of a prefix in it.

A bucket has no feed of changes. Its listing names a thousand objects per request with their ETags, so every
run lists, reads what differs and removes what a listing that came to its end did not name. Notifications only
say that it is time for that.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, unquote_plus, urlencode

import httpx2
from lxml import etree

from connectors.concurrency import mapped
from connectors.errors import (
    AuthExpiredError,
    ConnectorError,
    ForgedError,
    NotFetchedError,
    OperatorMistakeError,
    RateLimitedError,
    UnavailableError,
)
from connectors.ports import (
    Checkpoint,
    Connection,
    Cursor,
    Delivery,
    Failure,
    File,
    Hint,
    Item,
    Known,
    Pace,
    Provider,
    Receipt,
    Removed,
    Step,
    Subscription,
)
from connectors.providers.files import refusal
from connectors.providers.sns import Topics
from schemas.base import Metadata
from schemas.limits import FILE_BYTES

_LARGE: Final = 1024 * 1024
_WIDTH: Final = 16
_OWN: Final = "x-amz-meta-"
_OWN_CHARACTERS: Final = 2048
"""As many as S3 allows."""
_ARCHIVED: Final = frozenset({"GLACIER", "DEEP_ARCHIVE"})
_LISTING_BYTES: Final = 16 * 1024 * 1024
_CREDENTIALS: Final = frozenset(
    {"ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "TokenRefreshRequired", "InvalidToken"}
)
_SLOWER: Final = frozenset({"SlowDown", "ServiceUnavailable", "RequestLimitExceeded"})
_REGIONS: Final = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "TemporaryRedirect"})


@dataclass(frozen=True, slots=True)
class Object:
    """An object as the listing has it. `etag` names its content, it is not a hash of it."""

    key: str
    etag: str
    size: int
    changed: datetime
    storage: str

    @property
    def version(self) -> str:
        return f"{self.etag} {self.size} {self.changed.isoformat(timespec='seconds')}"


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a listing, in the order of keys."""

    objects: Sequence[Object]
    following: str | None


class S3(Provider):
    """The customer's keys and bucket are all it needs. Without `topics` nobody tells us of changes."""

    name = "s3"
    pace = Pace(per_second=100.0, concurrent=_WIDTH, burst=100)
    order = "objects by key"

    def __init__(self, topics: Topics | None = None) -> None:
        self._topics = topics
        self.webhooks = topics is not None

    def judge(self, response: httpx2.Response) -> Exception | None:
        """503 is how S3 says that it is asked too often."""
        if response.status_code == 503 and _code(response) in _SLOWER:
            return RateLimitedError("The storage asks us to slow down.")
        return None

    async def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """One listing. A killed complete run goes on after the last key; any other begins again."""
        complete = cursor is None or "after" in cursor
        after = str(cursor["after"]) if cursor and "after" in cursor else ""
        bucket = Bucket(connection)
        left = set() if complete else {id_ async for id_, _ in known.versions()}
        async for listing in bucket.listed(after):
            objects = [one for one in listing.objects if not one.key.endswith("/")]
            left -= {bucket.id(one.key) for one in objects}
            wanted = await known.wanted([(bucket.id(one.key), one.version) for one in objects])
            chosen = [one for one in objects if bucket.id(one.key) in wanted]
            async for step in _read(bucket, chosen):
                yield step
            if listing.objects:
                yield Checkpoint({"after": listing.objects[-1].key} if complete else {})
        for gone in sorted(left):
            yield Removed(gone)
        yield Checkpoint({})

    async def receive(self, delivery: Delivery) -> Receipt:
        """A notification that SNS signed, of a topic that the operator named."""
        if self._topics is None:
            raise ForgedError("No topic is set from which notifications of S3 are taken.")
        message = await self._topics.checked(delivery.body)
        hints = (Hint(),) if message.records else ()
        return Receipt(hints, message.id, message.sent_at)

    async def subscribe(
        self, connection: Connection, address: str, secret: str, current: Subscription | None
    ) -> Subscription | None:
        """Nothing to ask for: the bucket's owner lets its topic call us."""
        del connection, address, secret, current
        return None


class Bucket:
    """Signed requests for one bucket."""

    def __init__(self, connection: Connection) -> None:
        config, secrets = connection.config, connection.secrets
        self._http = connection.http
        self.name = str(config["bucket"])
        self.region = str(config["region"])
        self._prefix = str(config.get("prefix") or "")
        self._base = _base(self.name, self.region, str(config.get("endpoint") or ""))
        self._keys = (secrets["accessKeyId"], secrets["secretAccessKey"])

    def id(self, key: str) -> str:
        """Of an object's item."""
        return f"s3://{self.name}/{key}"

    async def listed(self, after: str) -> AsyncIterator[Listing]:
        """Every object after a key."""
        asked = {"list-type": "2", "max-keys": "1000", "encoding-type": "url"}
        if self._prefix:
            asked["prefix"] = self._prefix
        place = {"start-after": after} if after else {}
        while True:
            answer = await self._asked("", {**asked, **place}, limit=_LISTING_BYTES)
            if answer.status_code >= 300:
                raise self._error(answer)
            listing = parsed(answer.content)
            yield listing
            if listing.following is None:
                return
            place = {"continuation-token": listing.following}

    async def fetched(self, one: Object) -> Step:
        """An object's item, or why there is none."""
        name = PurePosixPath(one.key).name
        if one.storage in _ARCHIVED:
            return self._failure(
                one, f"The object is archived ({one.storage}). Restore it first.", "archived"
            )
        refused = refusal(name, None, one.size) if "." in name or not one.size else None
        if refused is not None:
            return self._failure(one, refused[1], refused[0])
        try:
            answer = await self._asked(one.key, {}, limit=FILE_BYTES)
        except NotFetchedError as error:
            return self._failure(one, str(error), "unreadable")
        if answer.status_code >= 300:
            return self._refused(one, answer)
        media = answer.headers.get("content-type", "")
        refused = refusal(name, media, len(answer.content))
        if refused is not None:
            return self._failure(one, refused[1], refused[0])
        return self._item(_as_read(one, answer), answer.content, media, _own(answer.headers))

    async def _asked(self, key: str, query: Mapping[str, str], limit: int) -> httpx2.Response:
        url = f"{self._base}/{quote(key, safe='/~')}"
        url = f"{url}?{urlencode(sorted(query.items()), quote_via=quote)}" if query else url
        headers = _signature(url, self._keys, self.region)
        return await self._http.get(url, headers=headers, limit=limit, signed=True)

    def _item(self, one: Object, data: bytes, media: str, own: Mapping[str, str]) -> Item:
        name = PurePosixPath(one.key).name
        kind = media.partition(";")[0].strip().lower()
        generic = kind in {"", "application/octet-stream", "binary/octet-stream"}
        metadata: Metadata = {
            **own,
            "type": "file",
            "bucket": self.name,
            "path": one.key,
            "size": one.size,
            "updatedAt": one.changed.isoformat(),
        }
        if not generic:
            metadata["mimeType"] = kind
        return Item(
            self.id(one.key),
            one.version,
            name,
            file=File(data, name, None if generic else media),
            url=self.id(one.key),
            metadata=metadata,
            date=one.changed,
        )

    def _refused(self, one: Object, answer: httpx2.Response) -> Step:
        """Of one object; what concerns all of them ends the run."""
        code = _code(answer)
        if code == "NoSuchKey":
            return Removed(self.id(one.key))
        if code == "InvalidObjectState":
            return self._failure(one, "The object is archived. Restore it first.", "archived")
        if code == "AccessDenied":
            message = "The access key may not read this object. Grant s3:GetObject."
            return self._failure(one, message, "forbidden", again=True)
        raise self._error(answer)

    def _error(self, answer: httpx2.Response) -> ConnectorError:
        code = _code(answer)
        if code in _CREDENTIALS:
            return AuthExpiredError(
                f"The storage does not accept the access key ({code}). Connect again with a valid one."
            )
        if code == "AccessDenied":
            return ConnectorError(f"The access key may not list {self.name}. Grant s3:ListBucket.")
        if code == "NoSuchBucket":
            return ConnectorError(f"There is no bucket {self.name} in {self.region}.")
        if code in _REGIONS or answer.status_code in {301, 307}:
            region = answer.headers.get("x-amz-bucket-region", "another region")
            return ConnectorError(
                f"The bucket {self.name} is in {region}. Connect it again with that region."
            )
        if code == "RequestTimeTooSkewed":
            return OperatorMistakeError("The clock of this service is wrong; its operator has to set it.")
        return UnavailableError(
            f"{answer.url.host} answered {answer.status_code} {code}. The next run tries again."
        )

    def _failure(self, one: Object, message: str, code: str, *, again: bool = False) -> Failure:
        return Failure(self.id(one.key), message, PurePosixPath(one.key).name, code, again)


async def _read(bucket: Bucket, objects: Sequence[Object]) -> AsyncIterator[Step]:
    """Small objects many at a time, large ones one by one: so many are in memory at once."""
    small = [one for one in objects if one.size <= _LARGE]
    async for step in mapped(small, bucket.fetched, _WIDTH):
        yield step
    for one in objects:
        if one.size > _LARGE:
            yield await bucket.fetched(one)


def _signature(url: str, keys: tuple[str, str], region: str) -> dict[str, str]:
    """The headers that sign a GET."""
    # Slow to import, and only a service with a bucket needs it.
    from botocore.auth import S3SigV4Auth  # noqa: PLC0415 - see above
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - see above
    from botocore.credentials import Credentials  # noqa: PLC0415 - see above

    request = AWSRequest("GET", url)
    S3SigV4Auth(Credentials(*keys), "s3", region).add_auth(request)
    return dict(request.headers.items())


def parsed(xml: bytes) -> Listing:
    """A ListObjectsV2 answer. UnavailableError where it is none."""
    root = _xml(xml)
    if root is None or etree.QName(root).localname != "ListBucketResult":
        raise UnavailableError(
            "The storage answered a listing with something else. The next run tries again."
        )
    objects = [_object(entry) for entry in root.iterfind("{*}Contents")]
    return Listing(objects, root.findtext("{*}NextContinuationToken") or None)


def _object(entry: etree._Element) -> Object:
    def text(name: str) -> str:
        return str(entry.findtext(f"{{*}}{name}") or "")

    return Object(
        key=_decoded(text("Key")),
        etag=text("ETag").strip('"'),
        size=int(text("Size") or 0),
        changed=datetime.fromisoformat(text("LastModified")),
        storage=text("StorageClass"),
    )


def _decoded(key: str) -> str:
    """Keys are asked for in URL encoding, as XML has no way to say some of them; a space is a plus there."""
    return unquote_plus(key)


def _code(answer: httpx2.Response) -> str:
    root = _xml(answer.content)
    return "" if root is None else str(root.findtext("{*}Code") or root.findtext("Code") or "")


def _xml(data: bytes) -> etree._Element | None:
    """From a server that a customer named: nothing is fetched, nothing expands."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None


def _base(bucket: str, region: str, endpoint: str) -> str:
    """Amazon wants the bucket in the host's name where its certificate allows, others in the path."""
    if endpoint:
        return f"{endpoint.rstrip('/')}/{bucket}"
    host = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://s3.{region}.{host}/{bucket}" if "." in bucket else f"https://{bucket}.s3.{region}.{host}"


def _own(headers: httpx2.Headers) -> dict[str, str]:
    """What the object's owner said of it; outside of ASCII as mails do it (RFC 2047)."""
    told: dict[str, str] = {}
    for name, value in headers.items():
        if name.startswith(_OWN) and sum(map(len, told.values())) + len(value) <= _OWN_CHARACTERS:
            told[name.removeprefix(_OWN)] = _words(value)
    return told


def _words(value: str) -> str:
    try:
        return str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, UnicodeDecodeError):
        return value


def _as_read(one: Object, answer: httpx2.Response) -> Object:
    """As it was when it was read: it may be newer than the listing."""
    etag = answer.headers.get("etag", "").strip('"') or one.etag
    told = answer.headers.get("last-modified")
    changed = parsedate_to_datetime(told) if told else one.changed
    return replace(one, etag=etag, size=len(answer.content), changed=changed)
