"""Google Drive against its double: every trap that its interface has."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from connectors.errors import (
    AuthExpiredError,
    ForgedError,
    OperatorMistakeError,
    RateLimitedError,
    UnavailableError,
)
from connectors.ports import Checkpoint, Delivery, Subscription
from connectors.providers.google import GoogleClient
from connectors.providers.google_drive import GoogleDrive
from tests.connectors.doubles.google import refused
from tests.connectors.doubles.google_drive import DOCUMENT, FOLDER, SHEET, SLIDES, GoogleDriveDouble
from tests.connectors.mirror import Killed, Patience, items, network
from tests.connectors.providers.drives import DriveWorld, FolderSuite
from tests.fakes import FixedClock

pytestmark = pytest.mark.anyio
LARGE = b"x" * (10 * 1024 * 1024 + 1)
ADDRESS = "https://recollect.example.test/webhooks/google-drive/connector-1"


@dataclass(kw_only=True)
class World(DriveWorld):
    """A Google Drive."""

    drive: GoogleDriveDouble
    provider: GoogleDrive

    def __post_init__(self) -> None:
        self.folder = self.made("Projects", self.drive.root)
        self.clients = network(self.drive)

    @property
    def double(self) -> GoogleDriveDouble:
        return self.drive

    @property
    def connector(self) -> GoogleDrive:
        return self.provider

    def made(self, name: str, parent: str) -> str:
        return self.drive.put(name, parent, FOLDER)

    def put(self, name: str, parent: str | None = None, content: bytes = b"text") -> str:
        return self.drive.put(name, parent or self.folder, "text/plain", content)

    def move(self, id_: str, parent: str) -> None:
        self.drive.change(id_, parents=[parent])


@pytest.fixture
async def world() -> AsyncIterator[World]:
    drive, patience = GoogleDriveDouble(), Patience()
    client = GoogleClient("the-client", "the-client-secret", drive.address)
    clock = FixedClock(drive.now)
    provider = GoogleDrive(client, clock=clock, sleep=patience.sleep)
    yield World(drive=drive, provider=provider, patience=patience, clock=clock)
    drive.settle()


class TestFolders(FolderSuite):
    """As of any drive."""


async def test_a_changed_file_costs_one_call_beside_the_feed(world: World) -> None:
    id_ = world.put("plan.txt")
    await world.sync()
    assert world.mirror.items[id_].url == f"https://drive.google.com/file/d/{id_}/view"
    world.drive.write(id_, b"news")
    assert await world.sync() == ["changes.list", "files.get"]


async def test_a_run_in_which_nothing_changed_is_one_call_per_drive(world: World) -> None:
    world.put("plan.txt")
    await world.sync()
    assert await world.sync() == ["changes.list"]
    assert [type(step) for step in world.mirror.steps] == [Checkpoint]


async def test_the_feed_is_opened_before_anything_is_listed(world: World) -> None:
    calls = await world.sync()
    assert calls.index("changes.getStartPageToken") < calls.index("files.list")


async def test_a_file_in_the_bin_goes_and_comes_back(world: World) -> None:
    id_ = world.put("plan.txt")
    await world.sync()
    world.drive.trash(id_)
    await world.sync()
    assert not world.mirror.items
    world.drive.restore(id_)
    await world.sync()
    assert world.mirror.items.keys() == {id_}


@pytest.mark.parametrize("full", [False, True])
async def test_a_folder_in_the_bin_takes_what_is_below_it_along_and_brings_it_back(
    world: World, full: bool
) -> None:
    inner = world.drive.put("2026", world.folder, FOLDER)
    deeper = world.drive.put("May", inner, FOLDER)
    lost, kept = world.put("plan.txt", deeper), world.put("kept.txt")
    await world.sync(full=full)
    world.drive.trash(inner)
    await world.sync(full=full)
    assert world.mirror.items.keys() == {kept}
    world.drive.restore(inner)
    await world.sync(full=full)
    assert world.mirror.items.keys() == {kept, lost}


async def test_a_file_that_moves_out_of_a_folder_in_the_bin_stays(world: World) -> None:
    inner = world.drive.put("2026", world.folder, FOLDER)
    id_ = world.put("plan.txt", inner)
    await world.sync()
    world.drive.change(id_, parents=[world.folder])
    world.drive.trash(inner)
    await world.sync()
    assert world.mirror.items.keys() == {id_}


async def test_everything_means_my_drive_and_every_shared_drive(world: World) -> None:
    team = world.drive.share_drive("Team")
    theirs, mine = world.put("theirs", team), world.put("mine", world.drive.root)
    await world.sync(full=True)
    assert world.mirror.items.keys() == {theirs, mine}
    assert await world.sync(full=True) == ["changes.list"] * 2


async def test_a_shared_drive_that_was_joined_is_listed(world: World) -> None:
    await world.sync(full=True)
    team = world.drive.share_drive("Team")
    theirs = world.put("theirs", team)
    await world.sync(full=True)
    assert world.mirror.items.keys() == {theirs}


async def test_a_folder_of_a_shared_drive_is_followed_by_that_drives_feed(world: World) -> None:
    team = world.drive.share_drive("Team")
    folder = world.drive.put("Docs", team, FOLDER)
    id_ = world.put("theirs", folder)
    await world.sync(folders=[folder])
    world.drive.write(id_, b"news")
    assert await world.sync(folders=[folder]) == ["changes.list", "changes.list", "files.get"]
    assert world.mirror.text(id_) == "news"


@pytest.mark.parametrize("into", ["mine", "team"])
async def test_what_moves_between_drives_is_not_lost_though_one_of_them_calls_it_removed(
    world: World, into: str
) -> None:
    team = world.drive.share_drive("Team")
    places = {"mine": world.folder, "team": team}
    id_ = world.put("plan.txt", places["team" if into == "mine" else "mine"])
    await world.sync(folders=[world.folder, team])
    assert world.mirror.items.keys() == {id_}
    world.drive.transfer(id_, places[into])
    await world.sync(folders=[world.folder, team])
    assert world.mirror.items.keys() == {id_}


async def test_shortcuts_lead_to_their_targets_and_circles_end(world: World) -> None:
    outside = world.drive.put("Outside", world.drive.root, FOLDER)
    inside = world.put("inside.txt", outside)
    single = world.put("single.txt", world.drive.root)
    world.drive.shortcut("to the folder", world.folder, outside)
    world.drive.shortcut("back", outside, world.folder)
    to_file = world.drive.shortcut("to the file", world.folder, single)
    await world.sync()
    assert world.mirror.items.keys() == {inside, single}
    world.drive.write(single, b"news")
    await world.sync()
    assert world.mirror.text(single) == "news"
    world.drive.delete(to_file)
    await world.sync()
    assert world.mirror.items.keys() == {inside}


async def test_a_shortcut_that_appears_brings_its_target(world: World) -> None:
    outside = world.drive.put("Outside", world.drive.root, FOLDER)
    inside, single = world.put("inside.txt", outside), world.put("single.txt", world.drive.root)
    await world.sync()
    world.drive.shortcut("to the folder", world.folder, outside)
    world.drive.shortcut("to the file", world.folder, single)
    await world.sync()
    assert world.mirror.items.keys() == {inside, single}


async def test_another_selection_begins_anew_and_removes_the_rest(world: World) -> None:
    other = world.drive.put("Other", world.drive.root, FOLDER)
    world.put("plan.txt")
    id_ = world.put("other.txt", other)
    await world.sync()
    await world.sync(folders=[other])
    assert world.mirror.items.keys() == {id_}


async def test_until_somebody_chose_nothing_is_fetched(world: World) -> None:
    world.put("plan.txt")
    await world.sync(folders=[])
    assert not world.mirror.items


async def test_a_selected_folder_that_is_gone_is_said_so(world: World) -> None:
    world.drive.trash(world.folder)
    await world.sync()
    assert world.mirror.failures[world.folder].code == "not_found"


async def test_documents_become_markdown_without_their_pictures(world: World) -> None:
    exported = "\ufeff# Plan\n\nSee ![a lamp][image1].\n\n[image1]: <data:image/png;base64,AAAA>\n"
    id_ = world.drive.put("Plan", world.folder, DOCUMENT, {"text/markdown": exported.encode()})
    await world.sync()
    assert world.mirror.text(id_) == "# Plan\n\nSee a lamp."
    assert world.mirror.items[id_].metadata["type"] == "google_doc"


async def test_sheets_and_slides_become_office_files(world: World) -> None:
    kinds = {SHEET: "spreadsheetml.sheet", SLIDES: "presentationml.presentation"}
    for media, end in kinds.items():
        content = {f"application/vnd.openxmlformats-officedocument.{end}": b"PK"}
        world.drive.put(media.rpartition(".")[2], world.folder, media, content)
    await world.sync()
    files = {item.file.filename for item in world.mirror.items.values() if item.file}
    assert files == {"spreadsheet.xlsx", "presentation.pptx"}


async def test_a_document_too_large_to_export_takes_the_long_way(world: World) -> None:
    id_ = world.drive.put("Plan", world.folder, DOCUMENT, {"text/markdown": LARGE})
    calls = await world.sync()
    assert calls[-3:] == ["files.export", "files.download", "operations.get"]
    assert len(world.mirror.text(id_)) == len(LARGE)


async def test_slides_too_large_to_export_become_their_text(world: World) -> None:
    content = {
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": LARGE,
        "text/plain": b"A slide",
    }
    id_ = world.drive.put("Deck", world.folder, SLIDES, content)
    await world.sync()
    assert world.mirror.text(id_) == "A slide"


async def test_what_can_not_be_read_is_a_failure_and_nothing_is_downloaded(world: World) -> None:
    world.drive.put("photo.png", world.folder, "image/png", b"PNG")
    world.drive.put("locked.txt", world.folder, content=b"x", capabilities={"canDownload": False})
    world.drive.put("form", world.folder, "application/vnd.google-apps.form")
    world.drive.put("huge.pdf", world.folder, "application/pdf", b"x" * (50 * 1024 * 1024 + 1))
    calls = await world.sync()
    codes = {failure.title: failure.code for failure in world.mirror.failures.values()}
    assert codes == {
        "photo.png": "unsupported",
        "locked.txt": "not_allowed",
        "form": "unsupported",
        "huge.pdf": "too_large",
    }
    assert "files.export" not in calls
    assert calls.count("files.get") == 1  # the selected folder


async def test_a_file_that_google_holds_back_fails_alone(world: World) -> None:
    world.put("a")
    world.put("b")
    world.drive.fail(refused(403, "cannotDownloadAbusiveFile"), "files.get", after=1)
    await world.sync()
    assert len(world.mirror.items) == 1
    [failure] = world.mirror.failures.values()
    assert failure.code == "not_allowed"
    assert "malware" in failure.message


async def test_a_file_that_can_not_be_had_now_is_tried_in_the_next_run(world: World) -> None:
    id_ = world.put("a")
    world.drive.fail(refused(500, "internalError"), "files.get", times=5, after=1)
    await world.sync()
    assert world.mirror.failures[id_].again
    assert not world.mirror.items
    await world.sync()
    assert world.mirror.items.keys() == {id_}
    assert not world.mirror.failures


async def test_files_that_fail_one_after_the_other_say_that_drive_is_away(world: World) -> None:
    for number in range(10):
        world.put(f"{number}")
    world.drive.fail(refused(503, "backendError"), "files.get", times=1000, after=1)
    with pytest.raises(UnavailableError):
        await world.sync()


@pytest.mark.parametrize(
    ("status", "reason"),
    [(403, "userRateLimitExceeded"), (403, "rateLimitExceeded"), (429, "rateLimitExceeded")],
)
async def test_too_many_requests_are_waited_for(world: World, status: int, reason: str) -> None:
    world.put("a")
    world.drive.fail(refused(status, reason), "files.list", times=2)
    await world.sync()
    assert world.mirror.titles() == {"a"}
    assert len(world.patience.waits) >= 2


async def test_a_retry_after_is_obeyed(world: World) -> None:
    world.drive.fail(refused(429, "rateLimitExceeded", retry_after="17"), "files.list")
    await world.sync()
    assert max(world.patience.waits) > 16


async def test_too_many_requests_for_too_long_end_the_run(world: World) -> None:
    world.drive.fail(refused(403, "userRateLimitExceeded"), "files.list", times=50)
    with pytest.raises(RateLimitedError):
        await world.sync()


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("insufficientPermissions", AuthExpiredError),
        ("domainPolicy", AuthExpiredError),
        ("accessNotConfigured", OperatorMistakeError),
    ],
)
async def test_other_refusals_say_who_has_to_act(world: World, reason: str, error: type[Exception]) -> None:
    world.drive.fail(refused(403, reason), "files.list")
    with pytest.raises(error):
        await world.sync()


async def test_an_expired_token_is_renewed_and_a_revoked_grant_ends_the_run(world: World) -> None:
    world.put("a")
    world.drive.accounts.expire()
    await world.sync()
    assert world.mirror.titles() == {"a"}
    world.drive.accounts.revoke()
    with pytest.raises(AuthExpiredError):
        await world.sync()


async def test_a_forgotten_place_in_the_feed_leads_to_a_complete_listing(world: World) -> None:
    gone, id_ = world.put("gone"), world.put("kept")
    await world.sync()
    world.drive.delete(gone)
    world.drive.fail(refused(410, "gone"), "changes.list")
    calls = await world.sync()
    assert "files.list" in calls
    assert world.mirror.items.keys() == {id_}


@pytest.mark.parametrize("kill_after", [1, 3, 40, 260, 300])
async def test_a_killed_listing_continues_and_loses_nothing(world: World, kill_after: int) -> None:
    ids = {world.put(f"{number}") for number in range(150)}
    inner = world.drive.put("inner", world.folder, FOLDER)
    ids |= {world.put(f"i{number}", inner) for number in range(150)}
    world.mirror.kill_after = kill_after
    with pytest.raises(Killed):
        await world.sync()
    await world.sync()
    assert world.mirror.items.keys() == ids


async def test_a_killed_run_over_changes_continues(world: World) -> None:
    await world.sync()
    ids = {world.put(f"{number}") for number in range(20)}
    world.mirror.kill_after = 7
    with pytest.raises(Killed):
        await world.sync()
    await world.sync()
    assert world.mirror.items.keys() == ids


async def test_a_page_of_a_listing_that_expired_begins_the_listing_anew(world: World) -> None:
    ids = {world.put(f"{number}") for number in range(1200)}
    world.mirror.kill_after = 2100
    with pytest.raises(Killed):
        await world.sync()
    assert world.mirror.cursor is not None
    assert world.mirror.cursor["page"]
    world.drive.pages.clear()
    await world.sync()
    assert world.mirror.items.keys() == ids


async def test_the_newest_come_first(world: World) -> None:
    ids = [world.put(f"{number}") for number in range(10)]
    world.mirror.limit = 3
    await world.sync()
    assert world.mirror.items.keys() == set(ids[-3:])


async def test_the_same_file_changed_twice_is_fetched_once(world: World) -> None:
    id_ = world.put("a")
    await world.sync()
    world.drive.write(id_, b"1")
    world.drive.write(id_, b"2")
    await world.sync()
    assert [world.mirror.text(item.id) for item in items(world.mirror.steps)] == ["2"]


async def test_many_folders_are_asked_for_fifty_at_a_time(world: World) -> None:
    for number in range(120):
        world.put("file", world.drive.put(f"{number}", world.folder, FOLDER))
    calls = await world.sync()
    # Folders: in the selected one, then in 120 more. Files: in 121 folders.
    assert calls.count("files.list") == 1 + 3 + 3


async def test_the_picker_shows_drives_then_what_is_in_them(world: World) -> None:
    world.drive.share_drive("Team")
    world.put("plan.txt")
    at = world.connect()
    top = await world.provider.browse(at, None, "", None)
    shown = [(entry.name, entry.opens, entry.kind) for entry in top.entries]
    assert shown == [("My Drive", True, "folders"), ("Team", True, "folders")]
    inside = await world.provider.browse(at, top.entries[0].id, "", None)
    assert [entry.name for entry in inside.entries] == ["Projects"]
    below = await world.provider.browse(at, world.folder, "", None)
    assert [(entry.name, entry.opens, entry.kind) for entry in below.entries] == [
        ("plan.txt", False, "files")
    ]
    found = await world.provider.browse(at, None, "pla", None)
    assert [entry.name for entry in found.entries] == ["plan.txt"]
    assert (await world.provider.browse(at, None, "it's \\ odd", None)).entries == ()


async def test_the_picker_has_pages(world: World) -> None:
    for number in range(120):
        world.put(f"{number:03}")
    first = await world.provider.browse(world.connect(), world.folder, "", None)
    second = await world.provider.browse(world.connect(), world.folder, "", first.next)
    assert [entry.name for entry in (*first.entries, *second.entries)] == [f"{n:03}" for n in range(120)]
    assert second.next is None


async def test_names_and_account(world: World) -> None:
    id_ = world.put("plan.txt")
    at = world.connect()
    assert await world.provider.names(at, "files", [id_, "missing"]) == {id_: "plan.txt"}
    assert await world.provider.names(at, "folders", [world.folder]) == {world.folder: "Projects"}
    account = await world.provider.account(at)
    assert (account.name, account.key) == ("ada@example.test", "0123")


async def _subscribed(world: World, current: Subscription | None = None) -> Subscription:
    return await world.provider.subscribe(world.connect(), ADDRESS, "the-secret", current)


def _delivery(world: World, ours: Subscription, state: str = "change", **changed: str) -> Delivery:
    headers = world.drive.notifications(ours.id, state) | {k.replace("_", "-"): v for k, v in changed.items()}
    return Delivery("POST", headers, {}, b"", world.drive.now, ours)


async def test_a_notification_of_our_channel_is_a_hint(world: World) -> None:
    ours = await _subscribed(world)
    assert world.drive.channels[ours.id].address == ADDRESS
    assert not (await world.provider.receive(_delivery(world, ours, "sync"))).hints
    receipt = await world.provider.receive(_delivery(world, ours))
    assert len(receipt.hints) == 1
    assert receipt.id == f"{ours.id}/2"


@pytest.mark.parametrize("header", ["x_goog_channel_id", "x_goog_channel_token", "x_goog_resource_id"])
async def test_a_notification_with_anything_else_is_forged(world: World, header: str) -> None:
    ours = await _subscribed(world)
    with pytest.raises(ForgedError):
        await world.provider.receive(_delivery(world, ours, **{header: "another"}))


async def test_a_channel_is_replaced_a_day_before_it_ends(world: World) -> None:
    ours = await _subscribed(world)
    assert ours.expires_at == world.clock.now() + timedelta(days=7)
    world.drive.counted()
    assert await _subscribed(world, ours) is ours
    assert world.drive.counted() == []
    world.clock.advance(6.5 * 86400)
    world.drive.now = world.clock.now()
    renewed = await _subscribed(world, ours)
    assert world.drive.channels.keys() == {renewed.id}
    assert renewed.id != ours.id


async def test_another_selection_has_other_channels(world: World) -> None:
    ours = await _subscribed(world)
    team = world.drive.share_drive("Team")
    at = world.connect(folders=[team])
    both = await world.provider.subscribe(at, ADDRESS, "the-secret", ours)
    assert {channel.drive for channel in world.drive.channels.values()} == {"", team}
    await world.provider.unsubscribe(at, both)
    await world.provider.unsubscribe(at, both)
    assert not world.drive.channels
