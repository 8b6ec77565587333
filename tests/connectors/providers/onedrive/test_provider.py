"""OneDrive against its double: every trap that Graph's feed has."""

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from connectors.errors import (
    AuthExpiredError,
    ConnectorError,
    PlanRequiredError,
    RateLimitedError,
    WebhookVerificationError,
)
from connectors.provider_interface import WebhookDelivery, WebhookSubscription
from connectors.providers.onedrive.client import MicrosoftOAuthClient
from connectors.providers.onedrive.provider import OneDrive
from connectors.sync_messages import Checkpoint
from tests.connectors.providers.drive_contract import DriveHarness, FolderContract
from tests.support.connectors.in_memory_sync import SimulatedKill, http_clients
from tests.support.fakes import FixedClock
from tests.support.providers.onedrive_double import OneDriveDouble, refused
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio
ADDRESS = "https://recollect.example.test/webhooks/onedrive/connector-1"


@dataclass(kw_only=True)
class OneDriveHarness(DriveHarness):
    """A OneDrive."""

    drive: OneDriveDouble
    provider: OneDrive

    def __post_init__(self) -> None:
        self.folder = self.drive.folder("Projects")
        self.clients = http_clients(self.drive, self.drive)

    @property
    def double(self) -> OneDriveDouble:
        return self.drive

    @property
    def connector(self) -> OneDrive:
        return self.provider

    def create_folder(self, name: str, parent: str) -> str:
        return self.drive.folder(name, parent)

    def put(self, name: str, parent: str | None = None, content: bytes = b"text", **more: Any) -> str:
        return self.drive.put(name, parent or self.folder, content, **more)

    def move(self, id_: str, parent: str) -> None:
        self.drive.change(id_, parent=parent)


@pytest.fixture
async def world() -> AsyncIterator[OneDriveHarness]:
    drive, clock = OneDriveDouble(), FixedClock()
    provider = OneDrive(MicrosoftOAuthClient("the-client", "the-client-secret"), clock=clock)
    clock.moment = drive.now
    yield OneDriveHarness(drive=drive, provider=provider, clock=clock)
    drive.assert_no_violations()


class TestFolders(FolderContract):
    """As of any drive."""


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "yesterday"])
async def test_a_file_whose_time_is_no_date_arrives_without_one(world: OneDriveHarness, time: str) -> None:
    id_ = world.put("plan.txt", content=b"Paint the lighthouse.")
    world.drive.items[id_]["lastModifiedDateTime"] = time
    await world.sync()
    assert world.in_memory_sync.text(id_) == "Paint the lighthouse."
    assert world.in_memory_sync.items[id_].date is None


async def test_a_new_file_costs_no_call_of_graph_but_the_feed(world: OneDriveHarness) -> None:
    for number in range(5):
        world.put(f"{number}")
    assert await world.sync() == ["delta"]
    assert world.drive.downloads == 5
    for id_, item in world.in_memory_sync.items.items():
        assert item.url == f"https://onedrive.live.com/?id={id_}"


async def test_a_run_in_which_nothing_changed_is_one_call(world: OneDriveHarness) -> None:
    world.put("plan.txt")
    await world.sync()
    assert await world.sync() == ["delta"]
    assert [type(step) for step in world.in_memory_sync.messages] == [Checkpoint]


@pytest.mark.parametrize("full", [False, True])
async def test_a_deleted_folder_takes_what_is_below_it_along(world: OneDriveHarness, full: bool) -> None:
    inner = world.drive.folder("2026", world.folder)
    world.put("plan.txt", world.drive.folder("May", inner))
    kept = world.put("kept.txt")
    await world.sync(full=full)
    world.drive.delete(inner)
    await world.sync(full=full)
    assert world.in_memory_sync.items.keys() == {kept}


async def test_what_was_moved_out_of_a_deleted_folder_stays_though_the_feed_names_it_later(
    world: OneDriveHarness,
) -> None:
    inner = world.drive.folder("2026", world.folder)
    deeper = world.drive.folder("May", inner)
    id_ = world.put("plan.txt", deeper)
    await world.sync()
    world.drive.change(deeper, parent=world.folder)
    world.drive.delete(inner)
    # The feed names the deletion first, on a page of its own.
    world.drive.change(deeper)
    world.drive.size = 1
    await world.sync()
    assert world.in_memory_sync.items[id_].metadata["path"] == "Projects/May/plan.txt"


async def test_a_file_that_moves_out_is_removed(world: OneDriveHarness) -> None:
    id_ = world.put("plan.txt")
    await world.sync()
    world.drive.change(id_, parent=world.drive.root)
    await world.sync()
    assert not world.in_memory_sync.items


async def test_files_that_the_feed_names_before_their_folders_wait_for_them(world: OneDriveHarness) -> None:
    inner = world.drive.folder("2026", world.folder)
    id_ = world.put("plan.txt", inner)
    world.drive.change(inner)
    world.drive.change(world.folder)
    world.drive.size = 1
    await world.sync()
    assert world.in_memory_sync.items[id_].metadata["path"] == "Projects/2026/plan.txt"


@pytest.mark.parametrize("kill_after", range(1, 12))
async def test_a_killed_run_continues_and_loses_nothing(world: OneDriveHarness, kill_after: int) -> None:
    inner = world.drive.folder("2026", world.folder)
    ids = {world.put(f"{number}", inner) for number in range(3)}
    world.drive.change(inner)
    world.drive.size = 1
    world.in_memory_sync.kill_after_messages = kill_after
    with pytest.raises(SimulatedKill):
        await world.sync()
    await world.sync()
    assert world.in_memory_sync.items.keys() == ids


async def test_a_feed_that_forgot_the_place_is_read_anew_and_what_is_gone_goes(
    world: OneDriveHarness,
) -> None:
    gone, kept = world.put("gone"), world.put("kept")
    await world.sync()
    world.drive.delete(gone)
    world.drive.fail(refused(410, "resyncChangesUploadDifferences"), "delta")
    assert await world.sync() == ["delta", "delta"]
    assert world.in_memory_sync.items.keys() == {kept}
    assert world.drive.downloads == 2


async def test_a_folder_that_vanished_while_the_place_was_forgotten_is_no_path_any_more(
    world: OneDriveHarness,
) -> None:
    inner = world.drive.folder("2026", world.folder)
    await world.sync()
    world.drive.delete(inner)
    world.drive.fail(refused(410, "resyncChangesApplyDifferences"), "delta")
    await world.sync()
    assert f"tree/folder/{inner}" not in world.in_memory_sync.stored_state


async def test_an_item_that_is_named_twice_counts_as_the_last_says(world: OneDriveHarness) -> None:
    id_ = world.put("old name")
    duplicated = world.drive.items[id_] | {"name": "older name"}
    page = {"value": [world.drive._select_fields(each, {}) for each in (*world.drive.items.values(), duplicated)]}
    page["value"].append(world.drive._select_fields(world.drive.items[id_], {}))
    world.drive.fail(DoubleResponse(200, page | {"@odata.deltaLink": world.drive._link("since-9999")}), "delta")
    await world.sync()
    assert world.in_memory_sync.titles() == {"old name"}


async def test_everything_means_all_of_the_drive(world: OneDriveHarness) -> None:
    ids = {world.put("a"), world.put("b", world.drive.root)}
    await world.sync(full=True)
    assert world.in_memory_sync.items.keys() == ids


async def test_another_selection_begins_anew_and_a_missing_folder_is_said_so(world: OneDriveHarness) -> None:
    other = world.drive.folder("Other")
    world.put("plan.txt")
    id_ = world.put("other.txt", other)
    await world.sync()
    await world.sync(folders=[other, "missing"])
    assert world.in_memory_sync.items.keys() == {id_}
    assert world.in_memory_sync.failures["missing"].code == "not_found"


async def test_what_can_not_be_read_is_a_failure_and_nothing_is_downloaded(world: OneDriveHarness) -> None:
    world.put("photo.png", media="image/png")
    world.put("evil.txt", malware={"description": "bad"})
    world.put("Notebook", package={"type": "oneNote"})
    world.put("shared.txt", remoteItem={"id": "elsewhere"})
    await world.sync()
    codes = {failure.title: failure.code for failure in world.in_memory_sync.failures.values()}
    assert codes == {
        "photo.png": "unsupported",
        "evil.txt": "malware",
        "Notebook": "unsupported",
        "shared.txt": "unsupported",
    }
    assert world.drive.downloads == 0


@pytest.mark.parametrize("address", ["stale", None])
async def test_an_address_that_expired_or_is_missing_is_asked_for(world: OneDriveHarness, address: str | None) -> None:
    id_ = world.put("plan.txt")
    world.drive.addresses = address
    assert await world.sync() == ["delta", "content"]
    assert world.in_memory_sync.text(id_) == "text"


@pytest.mark.parametrize("status", [400, 403, 404, 423, 500])
async def test_a_file_that_can_not_be_read_fails_and_keeps_its_document(world: OneDriveHarness, status: int) -> None:
    world.drive.addresses = None
    id_, other = world.put("plan.txt"), world.put("other.txt")
    await world.sync()
    world.drive.write(id_, b"news")
    world.drive.broken_paths[f"/items/{id_}/content"] = refused(status, "accessDenied")
    await world.sync()
    assert world.in_memory_sync.items.keys() == {id_, other}
    failure = world.in_memory_sync.failures[id_]
    assert failure.retryable
    assert str(status) in failure.message
    world.drive.broken_paths.clear()
    await world.sync()
    assert world.in_memory_sync.text(id_) == "news"


async def test_a_folder_that_somebody_shares_is_read_where_a_shortcut_leads_to_it(world: OneDriveHarness) -> None:
    theirs = world.drive.others["drive-2"] = OneDriveDouble(first_number=1000)
    shared = theirs.folder("Handbook")
    plan = theirs.put("plan.txt", theirs.folder("2026", shared), b"Their plan")
    theirs.put("private.txt")
    world.drive.link("Handbook", "drive-2", shared, world.folder)
    own = world.put("own.txt")
    await world.sync()
    assert world.in_memory_sync.items.keys() == {own, f"drive-2:{plan}"}
    assert world.in_memory_sync.items[f"drive-2:{plan}"].metadata["path"] == "Projects/Handbook/2026/plan.txt"
    theirs.write(plan, b"Another plan")
    await world.sync()
    assert world.in_memory_sync.text(f"drive-2:{plan}") == "Another plan"
    theirs.delete(plan)
    await world.sync()
    assert world.in_memory_sync.items.keys() == {own}


async def test_a_shared_folder_that_can_not_be_listed_fails_and_keeps_its_files(world: OneDriveHarness) -> None:
    theirs = world.drive.others["drive-2"] = OneDriveDouble(first_number=1000)
    shared = theirs.folder("Handbook")
    plan = theirs.put("plan.txt", shared, b"Their plan")
    link = world.drive.link("Handbook", "drive-2", shared, world.folder)
    await world.sync()
    world.drive.broken_paths[f"/items/{shared}/children"] = refused(403, "accessDenied")
    await world.sync(full=True)
    assert world.in_memory_sync.items.keys() == {f"drive-2:{plan}"}
    assert f"drive-2:{shared}" in world.in_memory_sync.failures
    world.drive.broken_paths.clear()
    world.drive.delete(link)
    await world.sync()
    assert not world.in_memory_sync.items


async def test_a_document_library_is_read_where_it_is_selected(world: OneDriveHarness) -> None:
    library = world.drive.others["b!library"] = OneDriveDouble(first_number=2000)
    plan = library.put("plan.txt", library.folder("Board"), b"Of the board")
    world.folder = "b!library:root"
    await world.sync()
    assert world.in_memory_sync.text(f"b!library:{plan}") == "Of the board"


async def test_contents_come_from_microsofts_hosts_only(world: OneDriveHarness) -> None:
    id_ = world.put("plan.txt")
    world.drive.contents_at = "https://1drv.com.evil.test"
    await world.sync()
    assert "evil.test" in world.in_memory_sync.failures[id_].message


async def test_too_many_requests_are_waited_for_as_long_as_is_asked(world: OneDriveHarness) -> None:
    world.put("plan.txt")
    world.drive.fail(refused(429, "activityLimitReached", Retry_After="11"), "delta")
    world.drive.fail(refused(503, "serviceNotAvailable", Retry_After="7"), "delta")
    await world.sync()
    assert sum(world.virtual_sleep.requested_seconds) >= 18
    world.drive.fail(refused(429, "activityLimitReached", Retry_After="3600"), "delta")
    with pytest.raises(RateLimitedError) as limited:
        await world.sync()
    assert limited.value.retry_after == timedelta(hours=1)


async def test_expired_tokens_are_renewed_and_a_withdrawn_consent_ends_the_run(
    world: OneDriveHarness,
) -> None:
    world.put("plan.txt")
    world.drive.accounts.expire()
    await world.sync()
    assert world.in_memory_sync.titles() == {"plan.txt"}
    world.drive.accounts.revoke()
    with pytest.raises(AuthExpiredError):
        await world.sync()


async def test_an_account_without_a_drive_needs_another_plan(world: OneDriveHarness) -> None:
    world.drive.fail(refused(404, "ResourceNotFound", "User's mysite not found."), "delta")
    with pytest.raises(PlanRequiredError):
        await world.sync()


async def test_the_picker_shows_folders_then_what_is_in_them_and_finds(world: OneDriveHarness) -> None:
    world.put("plan.txt")
    world.put("it's odd")
    at = world.connect()
    top = await world.provider.browse(at, None, "", None)
    assert [(entry.name, entry.kind, entry.expandable) for entry in top.entries] == [("Projects", "folders", True)]
    below = await world.provider.browse(at, world.folder, "", None)
    assert {entry.name for entry in below.entries} == {"plan.txt", "it's odd"}
    found = await world.provider.browse(at, None, "plan", None)
    assert [entry.name for entry in found.entries] == ["plan.txt"]


async def test_the_picker_finds_the_document_library_that_a_pasted_link_leads_to(world: OneDriveHarness) -> None:
    link = "https://contoso.sharepoint.com/sites/board/Documents"
    encoded = "u!" + urlsafe_b64encode(link.encode()).decode().rstrip("=")
    library = {"id": "01ROOT", "name": "Documents", "folder": {}, "parentReference": {"driveId": "b!library"}}
    world.drive.links[encoded] = library
    page = await world.provider.browse(world.connect(), None, link, None)
    assert [(entry.id, entry.name, entry.kind) for entry in page.entries] == [
        ("b!library:01ROOT", "Documents", "folders")
    ]
    assert not (await world.provider.browse(world.connect(), None, "https://contoso.sharepoint.com/x", None)).entries


async def test_the_picker_has_pages_and_follows_no_link_to_another_host(world: OneDriveHarness) -> None:
    for number in range(120):
        world.put(f"{number:03}")
    at = world.connect()
    first = await world.provider.browse(at, world.folder, "", None)
    second = await world.provider.browse(at, world.folder, "", first.next_page_token)
    assert len({entry.name for entry in (*first.entries, *second.entries)}) == 120
    with pytest.raises(ConnectorError):
        await world.provider.browse(at, world.folder, "", "https://evil.test/steal")


async def test_names_and_account(world: OneDriveHarness) -> None:
    id_ = world.put("plan.txt")
    at = world.connect()
    assert await world.provider.resolve_names(at, "files", [id_, "missing"]) == {id_: "plan.txt"}
    account = await world.provider.fetch_account(at)
    assert (account.name, account.webhook_id) == ("ada@example.test", "user-1")


def _delivery(world: OneDriveHarness, ours: WebhookSubscription | None, body: bytes, **query: str) -> WebhookDelivery:
    return WebhookDelivery({"content-type": "application/json"}, query, body, world.clock.now(), ours)


async def test_graph_asking_whether_the_address_is_ours_gets_its_token_as_plain_text(
    world: OneDriveHarness,
) -> None:
    receipt = await world.provider.verify_delivery(_delivery(world, None, b"", validationToken="<b>token</b>"))
    assert (receipt.response.status, receipt.response.body) == (200, "<b>token</b>")
    assert receipt.response.media_type == "text/plain"
    assert not receipt.hints


async def test_a_notification_of_our_subscription_is_a_hint(world: OneDriveHarness) -> None:
    ours = await world.provider.subscribe(world.connect(), ADDRESS, "the-secret", None)
    receipt = await world.provider.verify_delivery(_delivery(world, ours, world.drive.notification(ours.id)))
    assert len(receipt.hints) == 1
    assert receipt.response.status == 202


async def test_a_lifecycle_notification_is_a_hint_too(world: OneDriveHarness) -> None:
    ours = await world.provider.subscribe(world.connect(), ADDRESS, "the-secret", None)
    body = world.drive.notification(ours.id, lifecycleEvent="reauthorizationRequired")
    assert (await world.provider.verify_delivery(_delivery(world, ours, body))).hints


@pytest.mark.parametrize("changed", [{"clientState": "another"}, {"subscriptionId": "another"}])
async def test_a_notification_with_anything_else_is_forged(world: OneDriveHarness, changed: dict[str, str]) -> None:
    ours = await world.provider.subscribe(world.connect(), ADDRESS, "the-secret", None)
    body = world.drive.notification(ours.id, **changed)
    with pytest.raises(WebhookVerificationError):
        await world.provider.verify_delivery(_delivery(world, ours, body))


@pytest.mark.parametrize("body", [b"", b"[]", b'{"value": 3}', json.dumps({"value": []}).encode()])
async def test_a_notification_that_is_none_is_forged(world: OneDriveHarness, body: bytes) -> None:
    ours = await world.provider.subscribe(world.connect(), ADDRESS, "the-secret", None)
    with pytest.raises(WebhookVerificationError):
        await world.provider.verify_delivery(_delivery(world, ours, body))


async def test_a_subscription_is_prolonged_before_it_ends_and_replaced_when_it_is_gone(
    world: OneDriveHarness,
) -> None:
    at = world.connect()
    ours = await world.provider.subscribe(at, ADDRESS, "the-secret", None)
    world.clock.advance(27 * 86400)
    world.drive.now = world.clock.now()
    prolonged = await world.provider.subscribe(at, ADDRESS, "the-secret", ours)
    assert prolonged.id == ours.id
    assert prolonged.expires_at == world.clock.now() + timedelta(days=29)
    world.drive.subscriptions.clear()
    world.clock.advance(27 * 86400)
    world.drive.now = world.clock.now()
    replaced = await world.provider.subscribe(at, ADDRESS, "the-secret", prolonged)
    assert replaced.id != ours.id
    await world.provider.unsubscribe(at, replaced)
    await world.provider.unsubscribe(at, replaced)
    assert not world.drive.subscriptions
