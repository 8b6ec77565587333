"""Google Drive against its double: every trap that its interface has."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from connectors.errors import (
    AuthExpiredError,
    MisconfigurationError,
    ProviderUnavailableError,
    RateLimitedError,
    WebhookVerificationError,
)
from connectors.provider_interface import WebhookDelivery, WebhookSubscription
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google_drive.provider import GoogleDrive
from connectors.sync_messages import Checkpoint
from tests.connectors.providers.drive_contract import DriveHarness, FolderContract
from tests.support.connectors.in_memory_sync import SimulatedKill, VirtualSleep, http_clients, items
from tests.support.fakes import FixedClock
from tests.support.providers.google_double import error_response
from tests.support.providers.google_drive_double import DOCUMENT, FOLDER, SHEET, SLIDES, GoogleDriveDouble

pytestmark = pytest.mark.anyio
LARGE = b"x" * (10 * 1024 * 1024 + 1)
ADDRESS = "https://recollect.example.test/webhooks/google-drive/connector-1"


@dataclass(kw_only=True)
class GoogleDriveHarness(DriveHarness):
    """A Google Drive."""

    drive: GoogleDriveDouble
    provider: GoogleDrive

    def __post_init__(self) -> None:
        self.folder = self.create_folder("Projects", self.drive.root)
        self.clients = http_clients(self.drive)

    @property
    def double(self) -> GoogleDriveDouble:
        return self.drive

    @property
    def connector(self) -> GoogleDrive:
        return self.provider

    def create_folder(self, name: str, parent: str) -> str:
        return self.drive.put(name, parent, FOLDER)

    def put(self, name: str, parent: str | None = None, content: bytes = b"text") -> str:
        return self.drive.put(name, parent or self.folder, "text/plain", content)

    def move(self, id_: str, parent: str) -> None:
        self.drive.change(id_, parents=[parent])


@pytest.fixture
async def world() -> AsyncIterator[GoogleDriveHarness]:
    drive, patience = GoogleDriveDouble(), VirtualSleep()
    client = GoogleOAuthClient("the-client", "the-client-secret", drive.address)
    clock = FixedClock(drive.now)
    provider = GoogleDrive(client, clock=clock, sleep=patience.sleep)
    yield GoogleDriveHarness(drive=drive, provider=provider, virtual_sleep=patience, clock=clock)
    drive.assert_no_violations()


class TestFolders(FolderContract):
    """As of any drive."""


async def test_a_changed_file_costs_one_call_beside_the_feed(world: GoogleDriveHarness) -> None:
    id_ = world.put("plan.txt")
    await world.sync()
    assert world.in_memory_sync.items[id_].url == f"https://drive.google.com/file/d/{id_}/view"
    world.drive.write(id_, b"news")
    assert await world.sync() == ["changes.list", "files.get"]


async def test_a_run_in_which_nothing_changed_is_one_call_per_drive(world: GoogleDriveHarness) -> None:
    world.put("plan.txt")
    await world.sync()
    assert await world.sync() == ["changes.list"]
    assert [type(step) for step in world.in_memory_sync.messages] == [Checkpoint]


async def test_the_feed_is_opened_before_anything_is_listed(world: GoogleDriveHarness) -> None:
    calls = await world.sync()
    assert calls.index("changes.getStartPageToken") < calls.index("files.list")


async def test_a_file_in_the_bin_goes_and_comes_back(world: GoogleDriveHarness) -> None:
    id_ = world.put("plan.txt")
    await world.sync()
    world.drive.trash(id_)
    await world.sync()
    assert not world.in_memory_sync.items
    world.drive.restore(id_)
    await world.sync()
    assert world.in_memory_sync.items.keys() == {id_}


@pytest.mark.parametrize("full", [False, True])
async def test_a_folder_in_the_bin_takes_what_is_below_it_along_and_brings_it_back(
    world: GoogleDriveHarness, full: bool
) -> None:
    inner = world.drive.put("2026", world.folder, FOLDER)
    deeper = world.drive.put("May", inner, FOLDER)
    lost, kept = world.put("plan.txt", deeper), world.put("kept.txt")
    await world.sync(full=full)
    world.drive.trash(inner)
    await world.sync(full=full)
    assert world.in_memory_sync.items.keys() == {kept}
    world.drive.restore(inner)
    await world.sync(full=full)
    assert world.in_memory_sync.items.keys() == {kept, lost}


async def test_a_file_that_moves_out_of_a_folder_in_the_bin_stays(world: GoogleDriveHarness) -> None:
    inner = world.drive.put("2026", world.folder, FOLDER)
    id_ = world.put("plan.txt", inner)
    await world.sync()
    world.drive.change(id_, parents=[world.folder])
    world.drive.trash(inner)
    await world.sync()
    assert world.in_memory_sync.items.keys() == {id_}


async def test_everything_means_my_drive_and_every_shared_drive(world: GoogleDriveHarness) -> None:
    team = world.drive.share_drive("Team")
    theirs, mine = world.put("theirs", team), world.put("mine", world.drive.root)
    await world.sync(full=True)
    assert world.in_memory_sync.items.keys() == {theirs, mine}
    assert await world.sync(full=True) == ["changes.list"] * 2


async def test_a_shared_drive_that_was_joined_is_listed(world: GoogleDriveHarness) -> None:
    await world.sync(full=True)
    team = world.drive.share_drive("Team")
    theirs = world.put("theirs", team)
    await world.sync(full=True)
    assert world.in_memory_sync.items.keys() == {theirs}


async def test_a_folder_of_a_shared_drive_is_followed_by_that_drives_feed(world: GoogleDriveHarness) -> None:
    team = world.drive.share_drive("Team")
    folder = world.drive.put("Docs", team, FOLDER)
    id_ = world.put("theirs", folder)
    await world.sync(folders=[folder])
    world.drive.write(id_, b"news")
    assert await world.sync(folders=[folder]) == ["changes.list", "changes.list", "files.get"]
    assert world.in_memory_sync.text(id_) == "news"


@pytest.mark.parametrize("status", [403, 404])
async def test_a_shared_drive_that_was_left_is_told_and_ends_no_run(world: GoogleDriveHarness, status: int) -> None:
    team = world.drive.share_drive("Team")
    folder = world.drive.put("Docs", team, FOLDER)
    world.put("theirs", folder)
    mine = world.put("mine.txt")
    await world.sync(folders=[world.folder, folder])
    world.drive.broken_paths[f"driveId={team}"] = error_response(status, "teamDriveMembershipRequired")
    world.drive.broken_paths[f"/files/{folder}"] = error_response(404, "notFound")
    await world.sync(folders=[world.folder, folder])
    assert world.in_memory_sync.items.keys() == {mine}
    assert folder in world.in_memory_sync.failures


@pytest.mark.parametrize("into", ["mine", "team"])
async def test_what_moves_between_drives_is_not_lost_though_one_of_them_calls_it_removed(
    world: GoogleDriveHarness, into: str
) -> None:
    team = world.drive.share_drive("Team")
    places = {"mine": world.folder, "team": team}
    id_ = world.put("plan.txt", places["team" if into == "mine" else "mine"])
    await world.sync(folders=[world.folder, team])
    assert world.in_memory_sync.items.keys() == {id_}
    world.drive.transfer(id_, places[into])
    await world.sync(folders=[world.folder, team])
    assert world.in_memory_sync.items.keys() == {id_}


async def test_shortcuts_lead_to_their_targets_and_circles_end(world: GoogleDriveHarness) -> None:
    outside = world.drive.put("Outside", world.drive.root, FOLDER)
    inside = world.put("inside.txt", outside)
    single = world.put("single.txt", world.drive.root)
    world.drive.shortcut("to the folder", world.folder, outside)
    world.drive.shortcut("back", outside, world.folder)
    to_file = world.drive.shortcut("to the file", world.folder, single)
    await world.sync()
    assert world.in_memory_sync.items.keys() == {inside, single}
    world.drive.write(single, b"news")
    await world.sync()
    assert world.in_memory_sync.text(single) == "news"
    world.drive.delete(to_file)
    await world.sync()
    assert world.in_memory_sync.items.keys() == {inside}


async def test_a_shortcut_that_appears_brings_its_target(world: GoogleDriveHarness) -> None:
    outside = world.drive.put("Outside", world.drive.root, FOLDER)
    inside, single = world.put("inside.txt", outside), world.put("single.txt", world.drive.root)
    await world.sync()
    world.drive.shortcut("to the folder", world.folder, outside)
    world.drive.shortcut("to the file", world.folder, single)
    await world.sync()
    assert world.in_memory_sync.items.keys() == {inside, single}


async def test_another_selection_begins_anew_and_removes_the_rest(world: GoogleDriveHarness) -> None:
    other = world.drive.put("Other", world.drive.root, FOLDER)
    world.put("plan.txt")
    id_ = world.put("other.txt", other)
    await world.sync()
    await world.sync(folders=[other])
    assert world.in_memory_sync.items.keys() == {id_}


async def test_until_somebody_chose_nothing_is_fetched(world: GoogleDriveHarness) -> None:
    world.put("plan.txt")
    await world.sync(folders=[])
    assert not world.in_memory_sync.items


async def test_a_selected_folder_that_is_gone_is_said_so(world: GoogleDriveHarness) -> None:
    world.drive.trash(world.folder)
    await world.sync()
    assert world.in_memory_sync.failures[world.folder].code == "not_found"


async def test_documents_become_markdown_without_their_pictures(world: GoogleDriveHarness) -> None:
    exported = "\ufeff# Plan\n\nSee ![a lamp][image1].\n\n[image1]: <data:image/png;base64,AAAA>\n"
    id_ = world.drive.put("Plan", world.folder, DOCUMENT, {"text/markdown": exported.encode()})
    await world.sync()
    assert world.in_memory_sync.text(id_) == "# Plan\n\nSee a lamp."
    assert world.in_memory_sync.items[id_].metadata["type"] == "google_doc"


async def test_sheets_and_slides_become_office_files(world: GoogleDriveHarness) -> None:
    kinds = {SHEET: "spreadsheetml.sheet", SLIDES: "presentationml.presentation"}
    for media, end in kinds.items():
        content = {f"application/vnd.openxmlformats-officedocument.{end}": b"PK"}
        world.drive.put(media.rpartition(".")[2], world.folder, media, content)
    await world.sync()
    files = {item.file.filename for item in world.in_memory_sync.items.values() if item.file}
    assert files == {"spreadsheet.xlsx", "presentation.pptx"}


async def test_a_document_too_large_to_export_takes_the_long_way(world: GoogleDriveHarness) -> None:
    id_ = world.drive.put("Plan", world.folder, DOCUMENT, {"text/markdown": LARGE})
    calls = await world.sync()
    assert calls[-3:] == ["files.export", "files.download", "operations.get"]
    assert len(world.in_memory_sync.text(id_)) == len(LARGE)


async def test_a_large_document_that_drive_does_not_prepare_is_read_by_its_link(world: GoogleDriveHarness) -> None:
    id_ = world.drive.put("Plan", world.folder, DOCUMENT, {"text/markdown": LARGE})
    world.drive.broken_paths["/download"] = error_response(403, "cannotExportFile")
    await world.sync()
    assert len(world.in_memory_sync.text(id_)) == len(LARGE)


async def test_slides_too_large_to_export_become_their_text(world: GoogleDriveHarness) -> None:
    content = {
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": LARGE,
        "text/plain": b"A slide",
    }
    id_ = world.drive.put("Deck", world.folder, SLIDES, content)
    await world.sync()
    assert world.in_memory_sync.text(id_) == "A slide"


async def test_what_can_not_be_read_is_a_failure_and_nothing_is_downloaded(world: GoogleDriveHarness) -> None:
    world.drive.put("photo.png", world.folder, "image/png", b"PNG")
    world.drive.put("locked.txt", world.folder, content=b"x", capabilities={"canDownload": False})
    world.drive.put("form", world.folder, "application/vnd.google-apps.form")
    world.drive.put("huge.pdf", world.folder, "application/pdf", b"x" * (50 * 1024 * 1024 + 1))
    calls = await world.sync()
    codes = {failure.title: failure.code for failure in world.in_memory_sync.failures.values()}
    assert codes == {
        "photo.png": "unsupported",
        "locked.txt": "not_allowed",
        "form": "unsupported",
        "huge.pdf": "too_large",
    }
    assert "files.export" not in calls
    assert calls.count("files.get") == 1  # the selected folder


async def test_a_file_that_google_holds_back_fails_alone(world: GoogleDriveHarness) -> None:
    world.put("a")
    world.put("b")
    world.drive.fail(error_response(403, "cannotDownloadAbusiveFile"), "files.get", successes_before=1)
    await world.sync()
    assert len(world.in_memory_sync.items) == 1
    [failure] = world.in_memory_sync.failures.values()
    assert failure.code == "not_allowed"
    assert "malware" in failure.message


async def test_a_file_that_can_not_be_had_now_is_tried_in_the_next_run(world: GoogleDriveHarness) -> None:
    id_ = world.put("a")
    world.drive.fail(error_response(500, "internalError"), "files.get", times=5, successes_before=1)
    await world.sync()
    assert world.in_memory_sync.failures[id_].retryable
    assert not world.in_memory_sync.items
    await world.sync()
    assert world.in_memory_sync.items.keys() == {id_}
    assert not world.in_memory_sync.failures


@pytest.mark.parametrize("status", [400, 403, 404, 500])
@pytest.mark.parametrize("media_type", ["text/plain", "application/vnd.google-apps.document"])
async def test_a_file_that_drive_refuses_fails_alone_and_keeps_its_document(
    world: GoogleDriveHarness, status: int, media_type: str
) -> None:
    native = "google-apps" in media_type
    id_ = world.drive.put("plan", world.folder, media_type, {"text/markdown": b"Plan"} if native else b"Plan")
    other = world.put("other")
    await world.sync()
    world.drive.write(id_, {"text/markdown": b"News"} if native else b"News")
    place = f"{id_}?alt=media" if media_type == "text/plain" else f"{id_}/export"
    world.drive.broken_paths[place] = error_response(status, "badRequest")
    await world.sync()
    assert world.in_memory_sync.items.keys() == {id_, other}
    assert world.in_memory_sync.failures[id_].retryable
    world.drive.broken_paths.clear()
    await world.sync()
    assert not world.in_memory_sync.failures


async def test_a_large_export_that_drive_refuses_becomes_plain_text_or_a_failure(world: GoogleDriveHarness) -> None:
    document = world.drive.put("plan", world.folder, "application/vnd.google-apps.document", {"text/plain": b"Plan"})
    sheet = world.drive.put("sheet", world.folder, "application/vnd.google-apps.spreadsheet", {})
    too_large = error_response(403, "exportSizeLimitExceeded")
    world.drive.broken_paths[f"{document}/export?mimeType=text%2Fmarkdown"] = too_large
    world.drive.broken_paths[f"{sheet}/export"] = too_large
    world.drive.broken_paths["/download"] = error_response(400, "badRequest")
    await world.sync()
    assert world.in_memory_sync.items.keys() == {document}
    assert "400" in world.in_memory_sync.failures[sheet].message


async def test_a_shortcut_to_what_can_not_be_read_fails_alone(world: GoogleDriveHarness) -> None:
    hidden = world.drive.put("hidden", world.drive.root, content=b"x")
    world.drive.shortcut("link", world.folder, hidden)
    other = world.put("other")
    world.drive.broken_paths[f"/files/{hidden}"] = error_response(403, "insufficientFilePermissions")
    await world.sync()
    assert world.in_memory_sync.items.keys() == {other}
    assert "403" in world.in_memory_sync.failures[hidden].message


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("README", "application/octet-stream"),
        ("LICENSE", "application/octet-stream"),
        ("plan.ics", "application/ics"),
        ("mail.msg", "application/vnd.ms-outlook"),
    ],
)
async def test_texts_without_a_telling_ending_are_read(world: GoogleDriveHarness, name: str, media_type: str) -> None:
    id_ = world.drive.put(name, world.folder, media_type, b"Text")
    await world.sync()
    assert world.in_memory_sync.items.keys() == {id_}


async def test_files_that_fail_one_after_the_other_say_that_drive_is_away(world: GoogleDriveHarness) -> None:
    for number in range(10):
        world.put(f"{number}")
    world.drive.fail(error_response(503, "backendError"), "files.get", times=1000, successes_before=1)
    with pytest.raises(ProviderUnavailableError):
        await world.sync()


@pytest.mark.parametrize(
    ("status", "reason"),
    [(403, "userRateLimitExceeded"), (403, "rateLimitExceeded"), (429, "rateLimitExceeded")],
)
async def test_too_many_requests_are_waited_for(world: GoogleDriveHarness, status: int, reason: str) -> None:
    world.put("a")
    world.drive.fail(error_response(status, reason), "files.list", times=2)
    await world.sync()
    assert world.in_memory_sync.titles() == {"a"}
    assert len(world.virtual_sleep.requested_seconds) >= 2


async def test_a_retry_after_is_obeyed(world: GoogleDriveHarness) -> None:
    world.drive.fail(error_response(429, "rateLimitExceeded", retry_after="17"), "files.list")
    await world.sync()
    assert max(world.virtual_sleep.requested_seconds) > 16


async def test_too_many_requests_for_too_long_end_the_run(world: GoogleDriveHarness) -> None:
    world.drive.fail(error_response(403, "userRateLimitExceeded"), "files.list", times=50)
    with pytest.raises(RateLimitedError):
        await world.sync()


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("insufficientPermissions", AuthExpiredError),
        ("domainPolicy", AuthExpiredError),
        ("accessNotConfigured", MisconfigurationError),
    ],
)
async def test_other_refusals_say_who_has_to_act(
    world: GoogleDriveHarness, reason: str, error: type[Exception]
) -> None:
    world.drive.fail(error_response(403, reason), "files.list")
    with pytest.raises(error):
        await world.sync()


async def test_an_expired_token_is_renewed_and_a_revoked_grant_ends_the_run(
    world: GoogleDriveHarness,
) -> None:
    world.put("a")
    world.drive.accounts.expire()
    await world.sync()
    assert world.in_memory_sync.titles() == {"a"}
    world.drive.accounts.revoke()
    with pytest.raises(AuthExpiredError):
        await world.sync()


async def test_a_forgotten_place_in_the_feed_leads_to_a_complete_listing(world: GoogleDriveHarness) -> None:
    gone, id_ = world.put("gone"), world.put("kept")
    await world.sync()
    world.drive.delete(gone)
    world.drive.fail(error_response(410, "gone"), "changes.list")
    calls = await world.sync()
    assert "files.list" in calls
    assert world.in_memory_sync.items.keys() == {id_}


@pytest.mark.parametrize("kill_after", [1, 3, 40, 260, 300])
async def test_a_killed_listing_continues_and_loses_nothing(world: GoogleDriveHarness, kill_after: int) -> None:
    ids = {world.put(f"{number}") for number in range(150)}
    inner = world.drive.put("inner", world.folder, FOLDER)
    ids |= {world.put(f"i{number}", inner) for number in range(150)}
    world.in_memory_sync.kill_after_messages = kill_after
    with pytest.raises(SimulatedKill):
        await world.sync()
    await world.sync()
    assert world.in_memory_sync.items.keys() == ids


async def test_a_killed_run_over_changes_continues(world: GoogleDriveHarness) -> None:
    await world.sync()
    ids = {world.put(f"{number}") for number in range(20)}
    world.in_memory_sync.kill_after_messages = 7
    with pytest.raises(SimulatedKill):
        await world.sync()
    await world.sync()
    assert world.in_memory_sync.items.keys() == ids


async def test_a_listing_that_drive_calls_incomplete_removes_nothing(world: GoogleDriveHarness) -> None:
    ids = {world.put("a.txt"), world.put("b.txt")}
    await world.sync()
    world.drive.is_search_incomplete = True
    new = world.put("c.txt")
    world.in_memory_sync.cursor, world.in_memory_sync.full_sync = None, True
    await world.sync()
    assert world.in_memory_sync.items.keys() == ids | {new}


async def test_a_page_of_a_listing_that_expired_begins_the_listing_anew(world: GoogleDriveHarness) -> None:
    ids = {world.put(f"{number}") for number in range(1200)}
    world.in_memory_sync.kill_after_messages = 2100
    with pytest.raises(SimulatedKill):
        await world.sync()
    assert world.in_memory_sync.cursor is not None
    assert world.in_memory_sync.cursor["page"]
    world.drive.pages.clear()
    await world.sync()
    assert world.in_memory_sync.items.keys() == ids


async def test_the_newest_come_first(world: GoogleDriveHarness) -> None:
    ids = [world.put(f"{number}") for number in range(10)]
    world.in_memory_sync.document_limit = 3
    await world.sync()
    assert world.in_memory_sync.items.keys() == set(ids[-3:])


async def test_the_same_file_changed_twice_is_fetched_once(world: GoogleDriveHarness) -> None:
    id_ = world.put("a")
    await world.sync()
    world.drive.write(id_, b"1")
    world.drive.write(id_, b"2")
    await world.sync()
    assert [world.in_memory_sync.text(item.id) for item in items(world.in_memory_sync.messages)] == ["2"]


async def test_many_folders_are_asked_for_fifty_at_a_time(world: GoogleDriveHarness) -> None:
    for number in range(120):
        world.put("file", world.drive.put(f"{number}", world.folder, FOLDER))
    calls = await world.sync()
    # Folders: in the selected one, then in 120 more. Files: in 121 folders.
    assert calls.count("files.list") == 1 + 3 + 3


async def test_the_picker_shows_drives_then_what_is_in_them(world: GoogleDriveHarness) -> None:
    world.drive.share_drive("Team")
    world.put("plan.txt")
    at = world.connect()
    top = await world.provider.browse(at, None, "", None)
    shown = [(entry.name, entry.expandable, entry.kind) for entry in top.entries]
    assert shown == [("My Drive", True, "folders"), ("Team", True, "folders")]
    inside = await world.provider.browse(at, top.entries[0].id, "", None)
    assert [entry.name for entry in inside.entries] == ["Projects"]
    below = await world.provider.browse(at, world.folder, "", None)
    assert [(entry.name, entry.expandable, entry.kind) for entry in below.entries] == [("plan.txt", False, "files")]
    found = await world.provider.browse(at, None, "pla", None)
    assert [entry.name for entry in found.entries] == ["plan.txt"]
    assert (await world.provider.browse(at, None, "it's \\ odd", None)).entries == ()


async def test_the_picker_has_pages(world: GoogleDriveHarness) -> None:
    for number in range(120):
        world.put(f"{number:03}")
    first = await world.provider.browse(world.connect(), world.folder, "", None)
    second = await world.provider.browse(world.connect(), world.folder, "", first.next_page_token)
    assert [entry.name for entry in (*first.entries, *second.entries)] == [f"{n:03}" for n in range(120)]
    assert second.next_page_token is None


async def test_names_and_account(world: GoogleDriveHarness) -> None:
    id_ = world.put("plan.txt")
    at = world.connect()
    assert await world.provider.resolve_names(at, "files", [id_, "missing"]) == {id_: "plan.txt"}
    assert await world.provider.resolve_names(at, "folders", [world.folder]) == {world.folder: "Projects"}
    account = await world.provider.fetch_account(at)
    assert (account.name, account.webhook_id) == ("ada@example.test", "0123")


async def _subscribed(world: GoogleDriveHarness, current: WebhookSubscription | None = None) -> WebhookSubscription:
    return await world.provider.subscribe(world.connect(), ADDRESS, "the-secret", current)


def _delivery(
    world: GoogleDriveHarness, ours: WebhookSubscription, state: str = "change", **changed: str
) -> WebhookDelivery:
    headers = world.drive.notifications(ours.id, state) | {k.replace("_", "-"): v for k, v in changed.items()}
    return WebhookDelivery(headers, {}, b"", world.drive.now, ours)


async def test_a_notification_of_our_channel_is_a_hint(world: GoogleDriveHarness) -> None:
    ours = await _subscribed(world)
    assert world.drive.channels[ours.id].address == ADDRESS
    assert not (await world.provider.verify_delivery(_delivery(world, ours, "sync"))).hints
    receipt = await world.provider.verify_delivery(_delivery(world, ours))
    assert len(receipt.hints) == 1
    assert receipt.delivery_id == f"{ours.id}/2"


@pytest.mark.parametrize("header", ["x_goog_channel_id", "x_goog_channel_token", "x_goog_resource_id"])
async def test_a_notification_with_anything_else_is_forged(world: GoogleDriveHarness, header: str) -> None:
    ours = await _subscribed(world)
    with pytest.raises(WebhookVerificationError):
        await world.provider.verify_delivery(_delivery(world, ours, **{header: "another"}))


async def test_a_channel_is_replaced_before_it_ends(world: GoogleDriveHarness) -> None:
    ours = await _subscribed(world)
    assert ours.expires_at == world.clock.now() + timedelta(days=7)
    world.clock.advance(6.5 * 86400)
    world.drive.now = world.clock.now()
    renewed = await _subscribed(world, ours)
    assert world.drive.channels.keys() == {renewed.id}
    assert renewed.id != ours.id


async def test_another_selection_has_other_channels(world: GoogleDriveHarness) -> None:
    ours = await _subscribed(world)
    team = world.drive.share_drive("Team")
    at = world.connect(folders=[team])
    both = await world.provider.subscribe(at, ADDRESS, "the-secret", ours)
    assert {channel.drive for channel in world.drive.channels.values()} == {"", team}
    await world.provider.unsubscribe(at, both)
    await world.provider.unsubscribe(at, both)
    assert not world.drive.channels
