"""Granola's webhooks: endpoints for the selected folders, signatures, and what an event leads to."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from connectors.errors import WebhookVerificationError
from connectors.provider_interface import ChangeHint, WebhookDelivery, WebhookSubscription
from connectors.providers.granola.provider import Granola
from tests.support.connectors.provider_harness import ProviderHarness
from tests.support.providers.granola_double import GranolaDouble
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio
CALLBACK = "https://memory.example.com/webhooks/granola/con_1"
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def granola() -> Iterator[GranolaDouble]:
    double = GranolaDouble()
    yield double
    double.assert_no_violations()


@pytest.fixture
def bench(granola: GranolaDouble) -> ProviderHarness:
    return ProviderHarness(Granola(), granola, secrets={"apiKey": "grn_good"})


async def subscribe(bench: ProviderHarness, current: WebhookSubscription | None = None) -> WebhookSubscription:
    made = await bench.provider.subscribe(bench.connection(), CALLBACK, "unused", current)
    assert made is not None
    return made


def delivery(headers: dict[str, str], body: bytes, subscription: WebhookSubscription | None) -> WebhookDelivery:
    return WebhookDelivery(headers, {}, body, NOW, subscription)


async def test_an_endpoint_follows_the_selection_and_goes_with_the_connector(
    bench: ProviderHarness, granola: GranolaDouble
) -> None:
    first = await subscribe(bench)
    assert granola.endpoints[first.id]["url"] == CALLBACK
    assert "folder_ids" not in granola.endpoints[first.id]
    folder = granola.folder("Team")
    bench.selection = {"folders": [folder.id]}
    second = await subscribe(bench, first)
    assert {id_: made["folder_ids"] for id_, made in granola.endpoints.items()} == {second.id: [folder.id]}
    await bench.provider.unsubscribe(bench.connection(), second)
    await bench.provider.unsubscribe(bench.connection(), second)
    assert granola.endpoints == {}


@pytest.mark.parametrize("scopes", [{"personal"}, {"public"}, {"workspace"}])
async def test_a_key_subscribes_to_what_it_may_read(
    bench: ProviderHarness, granola: GranolaDouble, scopes: set[str]
) -> None:
    granola.allowed_scopes = scopes
    made = await subscribe(bench)
    assert set(granola.endpoints[made.id]["scopes"]) == scopes


async def test_a_key_without_webhooks_is_polled(bench: ProviderHarness, granola: GranolaDouble) -> None:
    granola.allowed_scopes = set()
    assert await bench.provider.subscribe(bench.connection(), CALLBACK, "unused", None) is None


async def test_other_scopes_are_tried_only_where_scopes_were_refused(
    bench: ProviderHarness, granola: GranolaDouble
) -> None:
    granola.fail(DoubleResponse(404, {"message": "Not found"}), times=9)
    assert await bench.provider.subscribe(bench.connection(), CALLBACK, "unused", None) is None
    assert len(granola.calls) == 1


@pytest.mark.parametrize(
    ("event", "hints"),
    [
        ("note.generated", (ChangeHint(),)),
        ("note.edited", (ChangeHint(),)),
        ("note.access_granted", (ChangeHint(requires_full_sync=True),)),
        ("endpoint.test", ()),
    ],
)
async def test_an_event_leads_to_a_run_that_finds_its_note(
    bench: ProviderHarness, granola: GranolaDouble, event: str, hints: tuple[ChangeHint, ...]
) -> None:
    made = await subscribe(bench)
    headers, body = granola.deliver(made.id, event, "not_00000000000001", NOW)
    found = await bench.provider.verify_delivery(delivery(headers, body, made))
    assert found.hints == hints
    assert found.sent_at == NOW
    assert found.delivery_id == headers["webhook-id"]
    rotated = headers | {"webhook-signature": f"v1a,xx v1,AAAA {headers['webhook-signature']}"}
    assert (await bench.provider.verify_delivery(delivery(rotated, body, made))).hints == hints


@pytest.mark.parametrize("harm", ["body", "id", "timestamp", "signature", "secret", "none", "unsigned", "odd"])
async def test_a_forged_delivery_is_refused(bench: ProviderHarness, granola: GranolaDouble, harm: str) -> None:
    made = await subscribe(bench)
    headers, body = granola.deliver(made.id, "note.edited", "not_00000000000001", NOW)
    subscription: WebhookSubscription | None = made
    match harm:
        case "body":
            body += b" "
        case "id" | "timestamp":
            headers[f"webhook-{harm}"] += "1"
        case "signature":
            headers["webhook-signature"] = headers["webhook-signature"].replace("v1,", "v2,")
        case "secret":
            subscription = WebhookSubscription(made.id, "whsec_b3RoZXI=")
        case "none":
            subscription = None
        case "unsigned":
            headers = {}
        case "odd":
            headers["webhook-signature"] = "v1,ü v1 ,"
    with pytest.raises(WebhookVerificationError):
        await bench.provider.verify_delivery(delivery(headers, body, subscription))
