"""S3 on a real server: listings, what differs in them, and errors that tell whose turn it is."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import httpx2
import pytest

from connectors.errors import (
    AuthExpiredError,
    ConnectorError,
    ForgedError,
    OperatorMistakeError,
    UnavailableError,
)
from connectors.http import Clients
from connectors.ports import Connection, Delivery, Hint, Item, Step
from connectors.providers import s3 as provider
from connectors.providers.s3 import Bucket, parsed
from connectors.providers.sns import Topics
from tests.connectors.contract import ConnectorContract, Sent, Source
from tests.connectors.doubles.s3 import Door, Objects, Refusal, refusal
from tests.connectors.doubles.sns import TOPIC, Sns, event, test_event
from tests.connectors.mirror import Killed, Mirror, Patience, connection
from tests.s3 import S3

pytestmark = pytest.mark.anyio


@dataclass
class World:
    """A prefix of a bucket, and a connector that reads it."""

    objects: Objects
    door: Door = field(default_factory=Door)
    mirror: Mirror = field(default_factory=Mirror)
    patience: Patience = field(default_factory=Patience)
    source: provider.S3 = field(default_factory=provider.S3)

    def connection(self) -> Connection:
        outside = httpx2.AsyncClient(transport=self.door, follow_redirects=False)
        clients = replace(Clients.open(transport=self.door), outside=outside)
        made = connection(self.source, clients, config=self.objects.config, patience=self.patience)
        return replace(made, secrets=self.objects.secrets)

    async def run(self, *, complete: bool = False) -> list[Step]:
        if complete:
            self.mirror.cursor, self.mirror.listing = None, True
        return await self.mirror.run(self.source, self.connection())

    def id(self, key: str) -> str:
        return f"s3://recollect/{self.objects.prefix}{key}"

    def keys(self) -> set[str]:
        return {id_.removeprefix(self.id("")) for id_ in self.mirror.items}


@pytest.fixture
async def world(s3: S3, anyio_backend: str) -> AsyncIterator[World]:
    made = World(Objects(s3))
    yield made
    await made.door.aclose()
    assert not made.door.violations


async def test_everything_with_the_prefix_is_read(world: World) -> None:
    await world.objects.put("a.md", "# A")
    await world.objects.put("folder/b.txt", "B")
    await world.run()
    assert world.keys() == {"a.md", "folder/b.txt"}
    item = world.mirror.items[world.id("folder/b.txt")]
    assert item.file is not None
    assert (item.file.data, item.file.filename) == (b"B", "b.txt")
    assert item.metadata["path"] == f"{world.objects.prefix}folder/b.txt"
    assert world.door.counted() == ["ListObjectsV2", "GetObject", "GetObject"]


async def test_what_the_owner_said_of_an_object_is_metadata(world: World) -> None:
    own = {
        "author": "Ada",
        "title": "=?UTF-8?Q?=C3=9Cber_uns?=",
        "path": "not/ours",
        "odd": "=?nothing?Q?x?=",
    }
    await world.objects.put("a.txt", "Text", **{"Content-Type": "text/plain; charset=utf-8", **own})
    await world.objects.put("b.txt", "Text", **{"Content-Type": "binary/octet-stream"})
    await world.run()
    told = world.mirror.items[world.id("a.txt")].metadata
    assert (told["author"], told["title"], told["odd"]) == ("Ada", "Über uns", "=?nothing?Q?x?=")
    assert told["path"] == f"{world.objects.prefix}a.txt"
    assert told["mimeType"] == "text/plain"
    assert "mimeType" not in world.mirror.items[world.id("b.txt")].metadata


@pytest.mark.parametrize(
    "key", ["a b.md", "a+b.md", "ü/ñ.md", "50%.md", "a&b=c.md", "100%25.md", "~x(1)'.md"]
)
async def test_any_key_is_read(world: World, key: str) -> None:
    await world.objects.put(key, "Text")
    await world.run()
    assert world.keys() == {key}
    assert not world.mirror.failures


async def test_nothing_changed_costs_one_request(world: World) -> None:
    await world.objects.put("a.md", "A")
    await world.run()
    world.door.counted()
    steps = await world.run()
    assert world.door.counted() == ["ListObjectsV2"]
    assert not [step for step in steps if isinstance(step, Item)]


async def test_changes_and_deletions_arrive(world: World) -> None:
    for key in ("a.md", "b.md"):
        await world.objects.put(key, "Old")
    await world.run()
    await world.objects.put("a.md", "New!")
    await world.objects.delete("b.md")
    await world.objects.put("c.md", "C")
    await world.run()
    assert world.keys() == {"a.md", "c.md"}
    assert world.mirror.text(world.id("a.md")) == "New!"


async def test_more_than_a_page_is_listed_to_the_end(world: World) -> None:
    for number in range(1100):
        await world.objects.put(f"{number:04}.md", str(number))
    await world.run()
    assert len(world.keys()) == 1100
    assert world.door.counted().count("ListObjectsV2") == 2
    await world.objects.delete("1099.md")
    await world.run()
    assert len(world.keys()) == 1099


async def test_a_killed_run_goes_on_after_its_last_page(world: World) -> None:
    for number in range(1100):
        await world.objects.put(f"{number:04}.md", str(number))
    world.mirror.kill_after = 1050
    with pytest.raises(Killed):
        await world.run()
    rest = [step for step in await world.run() if isinstance(step, Item)]
    assert len(rest) == 100
    assert len(world.keys()) == 1100


async def test_a_listing_that_ends_early_removes_nothing(world: World) -> None:
    for key in ("a.md", "b.md"):
        await world.objects.put(key, "x")
    await world.run()
    world.door.refusals += [refusal(500, "InternalError", operation="ListObjectsV2") for _ in range(5)]
    with pytest.raises(UnavailableError):
        await world.run()
    assert world.keys() == {"a.md", "b.md"}


async def test_what_holds_no_text_is_told_and_not_read(world: World) -> None:
    await world.objects.put("film.mp4", "x" * 10)
    await world.objects.put("empty.md", "")
    await world.run()
    told = {id_.removeprefix(world.id("")): failure.code for id_, failure in world.mirror.failures.items()}
    assert told == {"film.mp4": "unsupported", "empty.md": "empty"}
    assert world.door.counted() == ["ListObjectsV2"]


async def test_an_object_that_is_replaced_meanwhile_has_the_version_that_was_read(world: World) -> None:
    await world.objects.put("a.md", "First")
    bucket = Bucket(world.connection())
    listed = [one async for listing in bucket.listed("") for one in listing.objects]
    await world.objects.put("a.md", "Second, and longer")
    item = await bucket.fetched(listed[0])
    assert isinstance(item, Item)
    assert item.version.split()[1] == str(len("Second, and longer"))


async def test_an_object_that_goes_meanwhile_is_removed(world: World) -> None:
    await world.objects.put("a.md", "x")
    world.door.refusals.append(refusal(404, "NoSuchKey", operation="GetObject"))
    await world.run()
    assert not world.keys()
    assert not world.mirror.failures


@pytest.mark.parametrize(
    ("status", "code", "told"), [(403, "AccessDenied", "forbidden"), (403, "InvalidObjectState", "archived")]
)
async def test_one_object_that_may_not_be_read_is_told(
    world: World, status: int, code: str, told: str
) -> None:
    await world.objects.put("a.md", "x")
    await world.objects.put("b.md", "x")
    world.door.refusals.append(refusal(status, code, operation="GetObject"))
    await world.run()
    assert len(world.keys()) == 1
    assert [failure.code for failure in world.mirror.failures.values()] == [told]


@pytest.mark.parametrize(
    ("refused", "error", "told"),
    [
        (refusal(400, "ExpiredToken"), AuthExpiredError, "valid one"),
        (refusal(403, "InvalidAccessKeyId"), AuthExpiredError, "valid one"),
        (refusal(403, "SignatureDoesNotMatch"), AuthExpiredError, "valid one"),
        (refusal(403, "AccessDenied"), ConnectorError, "s3:ListBucket"),
        (refusal(404, "NoSuchBucket"), ConnectorError, "no bucket recollect"),
        (refusal(403, "RequestTimeTooSkewed"), OperatorMistakeError, "clock"),
        (
            refusal(301, "PermanentRedirect", headers={"x-amz-bucket-region": "eu-west-1"}),
            ConnectorError,
            "eu-west-1",
        ),
        (refusal(200, "Odd"), UnavailableError, "something else"),
    ],
)
async def test_an_error_tells_whose_turn_it_is(
    world: World, refused: Refusal, error: type[Exception], told: str
) -> None:
    world.door.refusals.append(refused)
    with pytest.raises(error, match=told) as caught:
        await world.run()
    assert type(caught.value) is error


async def test_wrong_keys_are_the_users_affair(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Objects, "secrets", {"accessKeyId": "recollect", "secretAccessKey": "wrong"})
    with pytest.raises(AuthExpiredError):
        await world.run()


async def test_it_waits_as_long_as_the_storage_asks(world: World) -> None:
    await world.objects.put("a.md", "x")
    world.door.refusals.append(refusal(503, "SlowDown", headers={"retry-after": "7"}, operation="GetObject"))
    await world.run()
    assert max(world.patience.waits) == pytest.approx(7, abs=1)
    assert world.keys() == {"a.md"}


async def test_the_mark_of_a_folder_is_no_document(world: World) -> None:
    entry = "<Contents><Key>folder/</Key><LastModified>2026-03-01T12:00:00Z</LastModified></Contents>"
    listing = f"<ListBucketResult>{entry}</ListBucketResult>".encode()
    world.door.refusals.append(Refusal(200, listing, {}, "ListObjectsV2"))
    await world.run()
    assert not world.keys()
    assert not world.mirror.failures


def test_an_archived_object_and_a_part_of_a_listing_are_read_from_xml() -> None:
    xml = (
        b'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><NextContinuationToken>t'
        b"</NextContinuationToken><Contents><Key>a+b%2Fc.md</Key><ETag>&quot;0c-12&quot;</ETag><Size>3</Size>"
        b"<LastModified>2026-03-01T12:00:00.000Z</LastModified><StorageClass>GLACIER</StorageClass></Contents>"
        b"</ListBucketResult>"
    )
    listing = parsed(xml)
    assert listing.following == "t"
    assert [(one.key, one.etag, one.storage) for one in listing.objects] == [("a b/c.md", "0c-12", "GLACIER")]


async def test_an_archived_object_is_told_and_not_asked_for(world: World) -> None:
    await world.objects.put("a.md", "x")
    bucket = Bucket(world.connection())
    listed = [one async for listing in bucket.listed("") for one in listing.objects]
    world.door.counted()
    failure = await bucket.fetched(replace(listed[0], storage="DEEP_ARCHIVE"))
    assert getattr(failure, "code", None) == "archived"
    assert not world.door.counted()


def test_xml_from_a_customers_server_expands_nothing() -> None:
    listing = b"<ListBucketResult><Contents><Key>&x;</Key></Contents></ListBucketResult>"
    bomb = b'<!DOCTYPE a [<!ENTITY x "yyyy">]>' + listing
    with pytest.raises((UnavailableError, ValueError)):
        parsed(bomb)


def _delivery(body: bytes) -> Delivery:
    return Delivery("POST", {}, {}, body, datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def sns() -> Sns:
    return Sns()


@pytest.fixture
def told(sns: Sns) -> provider.S3:
    return provider.S3(Topics(frozenset({TOPIC}), sns.fetch))


@pytest.mark.parametrize("version", ["1", "2"])
async def test_a_change_of_the_bucket_is_a_hint(told: provider.S3, sns: Sns, version: str) -> None:
    receipt = await told.receive(_delivery(sns.message(event("a b+c.md"), version=version, Subject="S3")))
    assert receipt.hints == (Hint("connector"),)
    assert receipt.sent_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert told.webhooks


async def test_the_message_that_tests_a_notification_starts_nothing(told: provider.S3, sns: Sns) -> None:
    receipt = await told.receive(_delivery(sns.message(test_event())))
    assert receipt.hints == ()


async def test_a_subscription_to_a_topic_that_is_set_is_confirmed(told: provider.S3, sns: Sns) -> None:
    await told.receive(_delivery(sns.confirmation()))
    assert any("ConfirmSubscription" in url for url in sns.asked)


async def test_a_certificate_is_fetched_once(told: provider.S3, sns: Sns) -> None:
    for _ in range(3):
        await told.receive(_delivery(sns.message(event("a.md"))))
    assert len(sns.asked) == 1


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
    told: provider.S3, sns: Sns, known: dict[str, str]
) -> None:
    with pytest.raises(ForgedError):
        await told.receive(_delivery(sns.confirmation(**known)))
    assert not [url for url in sns.asked if "amazonaws.com/Simple" not in url]


async def test_a_message_that_somebody_else_signed_is_forged(told: provider.S3) -> None:
    with pytest.raises(ForgedError):
        await told.receive(_delivery(Sns().message(event("a.md")).replace(b"Notification", b"Notification ")))
    body = Sns().message(event("a.md"))
    stranger = provider.S3(Topics(frozenset({TOPIC}), Sns().fetch))
    with pytest.raises(ForgedError, match="did not sign"):
        await stranger.receive(_delivery(body))
    with pytest.raises(ForgedError):
        await provider.S3().receive(_delivery(body))
    with pytest.raises(ForgedError):
        await told.receive(_delivery(b"not JSON"))


class S3Source(Source):
    """Objects with one prefix; what moves out has another."""

    def __init__(self, server: S3) -> None:
        self.objects = Objects(server)
        self.door = Door()
        self.sns = Sns()
        self.provider = provider.S3(Topics(frozenset({TOPIC}), self.sns.fetch))
        self.provider.origins = frozenset({server.endpoint})  # of a customer's it would be guarded
        self.fields = {"config": {**self.objects.config, **self.objects.secrets}}

    def transport(self) -> httpx2.AsyncBaseTransport:
        return self.door

    async def put(self, key: str, text: str) -> None:
        await self.objects.put(f"{key}.md", text)

    async def remove(self, key: str) -> None:
        await self.objects.delete(f"{key}.md")

    async def move_out(self, key: str) -> None:
        await Objects(self.objects.server).put(f"{key}.md", "Moved")
        await self.remove(key)

    def title(self, key: str) -> str:
        return f"{key}.md"

    def calls(self) -> int:
        return len(self.door.calls)

    def withdraw(self) -> None:
        self.door.refusals.append(refusal(403, "InvalidAccessKeyId"))

    def refuse_for(self, seconds: int) -> None:
        self.door.refusals.append(refusal(503, "SlowDown", headers={"retry-after": str(seconds)}))

    def sends(self, connector: str, *, forged: bool = False) -> Sent:
        told = event("new.md")
        body = (Sns() if forged else self.sns).message(told, Timestamp=datetime.now(UTC).isoformat())
        return Sent(f"/webhooks/s3/{connector}", {}, body)

    async def settle(self) -> None:
        await self.door.aclose()
        assert not self.door.violations


class TestContract(ConnectorContract):
    @pytest.fixture
    def source(self, s3: S3) -> S3Source:
        return S3Source(s3)
