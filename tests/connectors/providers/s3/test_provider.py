"""S3 on a real server: listings, what differs in them, and errors that tell whose turn it is."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import httpx2
import pytest

from connectors.client.http_client import HttpClients
from connectors.errors import (
    AuthExpiredError,
    MisconfigurationError,
    ProviderUnavailableError,
    UnusableSourceError,
    WebhookVerificationError,
)
from connectors.provider_interface import ChangeHint, Connection, WebhookDelivery
from connectors.providers.s3 import provider
from connectors.providers.s3.provider import BucketClient, parse_listing
from connectors.providers.s3.sns import SnsTopics
from connectors.sync_messages import SourceItem, SyncMessage
from tests.connectors.provider_contract import ConnectorContract, DeliveryRequest, SourceDriver
from tests.support.connectors.in_memory_sync import InMemorySync, SimulatedKill, VirtualSleep, connect
from tests.support.providers.s3_double import BucketPrefix, S3ErrorResponse, S3FaultProxy, error_response
from tests.support.providers.sns_double import TOPIC, SnsDouble, s3_event, s3_test_event
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio


@dataclass
class S3Harness:
    """A prefix of a bucket, and a connector that reads it."""

    objects: BucketPrefix
    fault_proxy: S3FaultProxy = field(default_factory=S3FaultProxy)
    in_memory_sync: InMemorySync = field(default_factory=InMemorySync)
    virtual_sleep: VirtualSleep = field(default_factory=VirtualSleep)
    source: provider.S3 = field(default_factory=provider.S3)

    def connection(self) -> Connection:
        outside = httpx2.AsyncClient(transport=self.fault_proxy, follow_redirects=False)
        clients = replace(HttpClients.open(transport=self.fault_proxy), guarded_client=outside)
        made = connect(self.source, clients, config=self.objects.config, virtual_sleep=self.virtual_sleep)
        return replace(made, secrets=self.objects.secrets)

    async def run(self, *, complete: bool = False) -> list[SyncMessage]:
        if complete:
            self.in_memory_sync.cursor, self.in_memory_sync.full_sync = None, True
        return await self.in_memory_sync.run(self.source, self.connection())

    def id(self, key: str) -> str:
        return f"s3://recollect/{self.objects.prefix}{key}"

    def keys(self) -> set[str]:
        return {id_.removeprefix(self.id("")) for id_ in self.in_memory_sync.items}


@pytest.fixture
async def world(s3: S3Server, anyio_backend: str) -> AsyncIterator[S3Harness]:
    made = S3Harness(BucketPrefix(s3))
    yield made
    await made.fault_proxy.aclose()
    assert not made.fault_proxy.violations


async def test_everything_with_the_prefix_is_read(world: S3Harness) -> None:
    await world.objects.put("a.md", "# A")
    await world.objects.put("folder/b.txt", "B")
    await world.run()
    assert world.keys() == {"a.md", "folder/b.txt"}
    item = world.in_memory_sync.items[world.id("folder/b.txt")]
    assert item.file is not None
    assert (item.file.data, item.file.filename) == (b"B", "b.txt")
    assert item.metadata["path"] == f"{world.objects.prefix}folder/b.txt"
    assert world.fault_proxy.drain_operations() == ["ListObjectsV2", "GetObject", "GetObject"]


async def test_what_the_owner_said_of_an_object_is_metadata(world: S3Harness) -> None:
    own = {
        "author": "Ada",
        "title": "=?UTF-8?Q?=C3=9Cber_uns?=",
        "path": "not/ours",
        "odd": "=?nothing?Q?x?=",
    }
    await world.objects.put("a.txt", "Text", **{"Content-Type": "text/plain; charset=utf-8", **own})
    await world.objects.put("b.txt", "Text", **{"Content-Type": "binary/octet-stream"})
    await world.run()
    told = world.in_memory_sync.items[world.id("a.txt")].metadata
    assert (told["author"], told["title"], told["odd"]) == ("Ada", "Über uns", "=?nothing?Q?x?=")
    assert told["path"] == f"{world.objects.prefix}a.txt"
    assert told["mimeType"] == "text/plain"
    assert "mimeType" not in world.in_memory_sync.items[world.id("b.txt")].metadata


@pytest.mark.parametrize("key", ["a b.md", "a+b.md", "ü/ñ.md", "50%.md", "a&b=c.md", "100%25.md", "~x(1)'.md"])
async def test_any_key_is_read(world: S3Harness, key: str) -> None:
    await world.objects.put(key, "Text")
    await world.run()
    assert world.keys() == {key}
    assert not world.in_memory_sync.failures


async def test_nothing_changed_costs_one_request(world: S3Harness) -> None:
    await world.objects.put("a.md", "A")
    await world.run()
    world.fault_proxy.drain_operations()
    steps = await world.run()
    assert world.fault_proxy.drain_operations() == ["ListObjectsV2"]
    assert not [step for step in steps if isinstance(step, SourceItem)]


async def test_changes_and_deletions_arrive(world: S3Harness) -> None:
    for key in ("a.md", "b.md"):
        await world.objects.put(key, "Old")
    await world.run()
    await world.objects.put("a.md", "New!")
    await world.objects.delete("b.md")
    await world.objects.put("c.md", "C")
    await world.run()
    assert world.keys() == {"a.md", "c.md"}
    assert world.in_memory_sync.text(world.id("a.md")) == "New!"


async def test_more_than_a_page_is_listed_to_the_end(world: S3Harness) -> None:
    for number in range(1100):
        await world.objects.put(f"{number:04}.md", str(number))
    await world.run()
    assert len(world.keys()) == 1100
    assert world.fault_proxy.drain_operations().count("ListObjectsV2") == 2
    await world.objects.delete("1099.md")
    await world.run()
    assert len(world.keys()) == 1099


async def test_a_killed_run_goes_on_after_its_last_page(world: S3Harness) -> None:
    for number in range(1100):
        await world.objects.put(f"{number:04}.md", str(number))
    world.in_memory_sync.kill_after_messages = 1050
    with pytest.raises(SimulatedKill):
        await world.run()
    rest = [step for step in await world.run() if isinstance(step, SourceItem)]
    assert len(rest) == 100
    assert len(world.keys()) == 1100


async def test_a_listing_that_ends_early_removes_nothing(world: S3Harness) -> None:
    for key in ("a.md", "b.md"):
        await world.objects.put(key, "x")
    await world.run()
    world.fault_proxy.refusals += [error_response(500, "InternalError", operation="ListObjectsV2") for _ in range(5)]
    with pytest.raises(ProviderUnavailableError):
        await world.run()
    assert world.keys() == {"a.md", "b.md"}


async def test_what_holds_no_text_is_told_and_not_read(world: S3Harness) -> None:
    await world.objects.put("film.mp4", "x" * 10)
    await world.objects.put("empty.md", "")
    await world.run()
    told = {id_.removeprefix(world.id("")): failure.code for id_, failure in world.in_memory_sync.failures.items()}
    assert told == {"film.mp4": "unsupported", "empty.md": "empty"}
    assert world.fault_proxy.drain_operations() == ["ListObjectsV2"]


async def test_an_object_that_is_replaced_meanwhile_has_the_version_that_was_read(world: S3Harness) -> None:
    await world.objects.put("a.md", "First")
    bucket = BucketClient(world.connection())
    listed = [stored async for listing in bucket.list_objects("") for stored in listing.objects]
    await world.objects.put("a.md", "Second, and longer")
    item = await bucket.fetch_item(listed[0])
    assert isinstance(item, SourceItem)
    assert item.version.split()[1] == str(len("Second, and longer"))


async def test_an_object_that_goes_meanwhile_is_removed(world: S3Harness) -> None:
    await world.objects.put("a.md", "x")
    world.fault_proxy.refusals.append(error_response(404, "NoSuchKey", operation="GetObject"))
    await world.run()
    assert not world.keys()
    assert not world.in_memory_sync.failures


@pytest.mark.parametrize(
    ("status", "code", "told"), [(403, "AccessDenied", "forbidden"), (403, "InvalidObjectState", "archived")]
)
async def test_one_object_that_may_not_be_read_is_told(world: S3Harness, status: int, code: str, told: str) -> None:
    await world.objects.put("a.md", "x")
    await world.objects.put("b.md", "x")
    world.fault_proxy.refusals.append(error_response(status, code, operation="GetObject"))
    await world.run()
    assert len(world.keys()) == 1
    assert [failure.code for failure in world.in_memory_sync.failures.values()] == [told]


@pytest.mark.parametrize(
    ("refused", "error", "told"),
    [
        (error_response(400, "ExpiredToken"), AuthExpiredError, "valid one"),
        (error_response(403, "InvalidAccessKeyId"), AuthExpiredError, "valid one"),
        (error_response(403, "SignatureDoesNotMatch"), AuthExpiredError, "valid one"),
        (error_response(403, "AccessDenied"), UnusableSourceError, "s3:ListBucket"),
        (error_response(404, "NoSuchBucket"), UnusableSourceError, "no bucket recollect"),
        (error_response(403, "RequestTimeTooSkewed"), MisconfigurationError, "clock"),
        (
            error_response(301, "PermanentRedirect", headers={"x-amz-bucket-region": "eu-west-1"}),
            UnusableSourceError,
            "eu-west-1",
        ),
        (error_response(200, "Odd"), ProviderUnavailableError, "no valid listing"),
    ],
)
async def test_an_error_tells_whose_turn_it_is(
    world: S3Harness, refused: S3ErrorResponse, error: type[Exception], told: str
) -> None:
    world.fault_proxy.refusals.append(refused)
    with pytest.raises(error, match=told) as caught:
        await world.run()
    assert type(caught.value) is error


async def test_wrong_keys_are_the_users_affair(world: S3Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BucketPrefix, "secrets", {"accessKeyId": "recollect", "secretAccessKey": "wrong"})
    with pytest.raises(AuthExpiredError):
        await world.run()


async def test_it_waits_as_long_as_the_storage_asks(world: S3Harness) -> None:
    await world.objects.put("a.md", "x")
    world.fault_proxy.refusals.append(
        error_response(503, "SlowDown", headers={"retry-after": "7"}, operation="GetObject")
    )
    await world.run()
    assert max(world.virtual_sleep.requested_seconds) == pytest.approx(7, abs=1)
    assert world.keys() == {"a.md"}


async def test_the_mark_of_a_folder_is_no_document(world: S3Harness) -> None:
    entry = "<Contents><Key>folder/</Key><LastModified>2026-03-01T12:00:00Z</LastModified></Contents>"
    listing = f"<ListBucketResult>{entry}</ListBucketResult>".encode()
    world.fault_proxy.refusals.append(S3ErrorResponse(200, listing, {}, "ListObjectsV2"))
    await world.run()
    assert not world.keys()
    assert not world.in_memory_sync.failures


def _listing(key: str, *more: str) -> bytes:
    entry = (
        f"<Contents><Key>{key}</Key><ETag>&quot;0c-12&quot;</ETag><Size>3</Size>"
        "<LastModified>2026-03-01T12:00:00.000Z</LastModified><StorageClass>GLACIER</StorageClass></Contents>"
    )
    return (
        f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{"".join(more)}{entry}</ListBucketResult>'
    ).encode()


ENCODED = "<EncodingType>url</EncodingType>"


def test_a_part_of_a_listing_is_read_from_xml() -> None:
    token = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
    listing = parse_listing(_listing("a+b%2Fc.md", ENCODED, token))
    assert listing.continuation_token == "t"
    assert [(stored.key, stored.etag) for stored in listing.objects] == [("a b/c.md", "0c-12")]


def test_keys_are_as_they_are_where_the_storage_did_not_encode_them() -> None:
    assert parse_listing(_listing("a+b%2Fc.md")).objects[0].key == "a+b%2Fc.md"


@pytest.mark.parametrize(
    "listing",
    [
        _listing("a.md", "<IsTruncated>true</IsTruncated><NextMarker>a.md</NextMarker>"),
        _listing("a.md").replace(b"2026-03-01T12:00:00.000Z", b""),
        _listing("a.md").replace(b"<Size>3", b"<Size>three"),
        _listing(""),
    ],
    ids=["ends early", "no time", "no size", "no key"],
)
def test_a_listing_that_can_not_be_complete_is_none(listing: bytes) -> None:
    with pytest.raises(ProviderUnavailableError):
        parse_listing(listing)


async def test_an_archived_object_is_told_and_arrives_once_it_is_restored(world: S3Harness) -> None:
    """A restored copy changes neither the object's ETag, nor its time, nor its storage class."""
    await world.objects.put("a.md", "x")
    world.fault_proxy.refusals.append(error_response(403, "InvalidObjectState", operation="GetObject"))
    await world.run()
    failure = world.in_memory_sync.failures[world.id("a.md")]
    assert (failure.code, failure.retryable) == ("archived", True)
    await world.run()
    assert world.keys() == {"a.md"}


def test_xml_from_a_customers_server_expands_nothing() -> None:
    listing = b"<ListBucketResult><Contents><Key>&x;</Key></Contents></ListBucketResult>"
    bomb = b'<!DOCTYPE a [<!ENTITY x "yyyy">]>' + listing
    with pytest.raises((ProviderUnavailableError, ValueError)):
        parse_listing(bomb)


def _delivery(body: bytes) -> WebhookDelivery:
    return WebhookDelivery({}, {}, body, datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def sns() -> SnsDouble:
    return SnsDouble()


@pytest.fixture
def told(sns: SnsDouble) -> provider.S3:
    return provider.S3(SnsTopics(frozenset({TOPIC}), sns.fetch))


@pytest.mark.parametrize("version", ["1", "2"])
async def test_a_change_of_the_bucket_is_a_hint(told: provider.S3, sns: SnsDouble, version: str) -> None:
    receipt = await told.verify_delivery(
        _delivery(sns.message(s3_event("a b+c.md"), version=version, SubmissionKey="S3"))
    )
    assert receipt.hints == (ChangeHint("connector"),)
    assert receipt.sent_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert told.supports_webhooks


async def test_the_message_that_tests_a_notification_starts_nothing(told: provider.S3, sns: SnsDouble) -> None:
    receipt = await told.verify_delivery(_delivery(sns.message(s3_test_event())))
    assert receipt.hints == ()


async def test_a_subscription_to_a_topic_that_is_set_is_confirmed(told: provider.S3, sns: SnsDouble) -> None:
    await told.verify_delivery(_delivery(sns.confirmation()))
    assert any("ConfirmSubscription" in url for url in sns.fetched_urls)


async def test_a_certificate_is_fetched_once(told: provider.S3, sns: SnsDouble) -> None:
    for _ in range(3):
        await told.verify_delivery(_delivery(sns.message(s3_event("a.md"))))
    assert len(sns.fetched_urls) == 1


@pytest.mark.parametrize(
    "known",
    [
        {"TopicArn": "arn:aws:sns:eu-west-1:999:other"},
        {"SigningCertURL": "https://sns.eu-west-1.amazonaws.com.evil.test/a.pem"},
        {"SigningCertURL": "http://sns.eu-west-1.amazonaws.com/a.pem"},
        {"SubscribeURL": "https://169.254.169.254/latest/meta-data"},
    ],
)
async def test_what_leads_elsewhere_is_forged_and_not_asked(
    told: provider.S3, sns: SnsDouble, known: dict[str, str]
) -> None:
    with pytest.raises(WebhookVerificationError):
        await told.verify_delivery(_delivery(sns.confirmation(**known)))
    assert not [url for url in sns.fetched_urls if "amazonaws.com/Simple" not in url]


async def test_a_message_that_somebody_else_signed_is_forged(told: provider.S3) -> None:
    with pytest.raises(WebhookVerificationError):
        await told.verify_delivery(
            _delivery(SnsDouble().message(s3_event("a.md")).replace(b"Notification", b"Notification "))
        )
    body = SnsDouble().message(s3_event("a.md"))
    stranger = provider.S3(SnsTopics(frozenset({TOPIC}), SnsDouble().fetch))
    with pytest.raises(WebhookVerificationError, match="did not sign"):
        await stranger.verify_delivery(_delivery(body))
    with pytest.raises(WebhookVerificationError):
        await provider.S3().verify_delivery(_delivery(body))
    with pytest.raises(WebhookVerificationError):
        await told.verify_delivery(_delivery(b"not JSON"))


class S3SourceDriver(SourceDriver):
    """Objects with one prefix; what moves out has another."""

    def __init__(self, server: S3Server) -> None:
        self.objects = BucketPrefix(server)
        self.door = S3FaultProxy()
        self.sns = SnsDouble()
        self.provider = provider.S3(SnsTopics(frozenset({TOPIC}), self.sns.fetch))
        self.provider.api_origins = frozenset({server.endpoint})  # of a customer's it would be guarded
        self.fields = {"config": {**self.objects.config, **self.objects.secrets}}

    def transport(self) -> httpx2.AsyncBaseTransport:
        return self.door

    async def put(self, key: str, text: str) -> None:
        await self.objects.put(f"{key}.md", text)

    async def remove(self, key: str) -> None:
        await self.objects.delete(f"{key}.md")

    async def move_out(self, key: str) -> None:
        await BucketPrefix(self.objects.server).put(f"{key}.md", "Moved")
        await self.remove(key)

    def title(self, key: str) -> str:
        return f"{key}.md"

    def call_count(self) -> int:
        return len(self.door.calls)

    def revoke_access(self) -> None:
        self.door.refusals.append(error_response(403, "InvalidAccessKeyId"))

    def rate_limit_for(self, seconds: int) -> None:
        self.door.refusals.append(error_response(503, "SlowDown", headers={"retry-after": str(seconds)}))

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        told = s3_event("new.md")
        body = (SnsDouble() if forged else self.sns).message(told, Timestamp=datetime.now(UTC).isoformat())
        return DeliveryRequest(f"/webhooks/s3/{connector}", {}, body)

    async def assert_no_violations(self) -> None:
        await self.door.aclose()
        assert not self.door.violations


class TestContract(ConnectorContract):
    @pytest.fixture
    def source(self, s3: S3Server) -> S3SourceDriver:
        return S3SourceDriver(s3)
