"""Random histories of a drive, with killed runs: the mirror equals the selection."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.client.http_client import HttpClients
from connectors.provider_interface import Provider
from connectors.providers.common.folder_tree import Folder, FolderTree, Shortcut
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google_drive.provider import GoogleDrive
from connectors.providers.onedrive.client import MicrosoftOAuthClient
from connectors.providers.onedrive.provider import OneDrive
from tests.support.connectors.in_memory_sync import InMemorySync, SimulatedKill, connect, http_clients
from tests.support.fakes import FixedClock
from tests.support.providers.authorization_server import AuthorizationServerDouble
from tests.support.providers.google_drive_double import FOLDER, GoogleDriveDouble
from tests.support.providers.onedrive_double import OneDriveDouble

Act = tuple[str, int, int]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["folder", "file", "move", "move", "rename", "write", "remove", *["sync"] * 3, "killed"]),
        st.integers(0, 50),
        st.integers(0, 50),
    ),
    max_size=20,
)
BEGUN: list[Act] = [
    ("folder", 0, 0),
    ("folder", 1, 2),
    ("file", 0, 3),
    ("folder", 2, 1),
    ("file", 1, 4),
    ("sync", 0, 0),
]
"""A file two folders deep in the selected one, and a file in a folder beside it."""
NAMES = [f"f{number}" for number in range(6)]


class Drive:
    """A drive with two top folders, of which the first is selected; what people do in it, and the truth."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self.folders: list[str] = []
        self.files: list[str] = []

    def act(self, act: Act) -> None:
        """Apply a user's action."""
        kind, first, second = act
        everything = [*self.folders[2:], *self.files]
        folder = self.folders[second % len(self.folders)]
        if kind == "folder":
            self.folders.append(self.made(f"folder {first % 3}", folder, folder=True))
            self.parents[self.folders[-1]] = folder
        elif kind == "file":
            self.files.append(self.made(f"{first}.txt", folder, folder=False))
            self.parents[self.files[-1]] = folder
        elif everything:
            self.change(kind, everything[first % len(everything)], folder)

    def change(self, kind: str, id_: str, folder: str) -> None:
        if kind == "move" and id_ not in self.above(folder):
            self.moved(id_, folder)
            self.parents[id_] = folder
        elif kind == "rename":
            self.renamed(id_, f"renamed {len(self.parents)}")
        elif kind == "write" and id_ in self.files:
            self.written(id_)
        elif kind == "remove":
            gone = [each for each in self.parents if id_ in self.above(each)]
            self.removed(id_)
            for each in gone:
                del self.parents[each]
            self.folders = [each for each in self.folders if each not in gone]
            self.files = [each for each in self.files if each not in gone]

    def above(self, id_: str) -> list[str]:
        """A thing and the folders it is in."""
        line = [id_]
        while line[-1] in self.parents:
            line.append(self.parents[line[-1]])
        return line

    def truth(self) -> dict[str, str]:
        """The selected files with their paths."""
        selected = [id_ for id_ in self.files if self.folders[0] in self.above(id_)]
        return {id_: self.path(id_) for id_ in selected}

    def path(self, id_: str) -> str:
        """Return the path from the selected folder on."""
        line = self.above(id_)
        inside = line[: line.index(self.folders[0]) + 1]
        return "/".join(self.name(each) for each in reversed(inside))

    made: Callable[..., str]
    moved: Callable[[str, str], None]
    renamed: Callable[[str, str], None]
    written: Callable[[str], None]
    removed: Callable[[str], None]
    name: Callable[[str], str]
    double: Any
    accounts: AuthorizationServerDouble
    provider: Provider
    clients: HttpClients


class GoogleWorld(Drive):
    """Drive in Google Drive."""

    def __init__(self) -> None:
        super().__init__()
        self.double = double = GoogleDriveDouble()
        self.accounts = double.accounts
        client = GoogleOAuthClient("the-client", "the-client-secret", double.address)
        self.provider = GoogleDrive(client, clock=FixedClock(double.now))
        self.clients = http_clients(double)
        self.folders = [double.put(name, double.root, FOLDER) for name in ("selected", "other")]
        self.made = lambda name, parent, folder: double.put(name, parent, FOLDER if folder else "text/plain", b"text")
        self.moved = lambda id_, parent: double.change(id_, parents=[parent])
        self.renamed = lambda id_, name: double.change(id_, name=name)
        self.written = lambda id_: double.write(id_, b"news")
        self.removed = double.trash
        self.name = lambda id_: str(double.files[id_]["name"])


class MicrosoftWorld(Drive):
    """Drive in OneDrive, with a feed in small pages."""

    def __init__(self) -> None:
        super().__init__()
        self.double = double = OneDriveDouble()
        double.size = 2
        self.accounts = double.accounts
        self.provider = OneDrive(MicrosoftOAuthClient("the-client", "the-client-secret"), clock=FixedClock(double.now))
        self.clients = http_clients(double, double)
        self.folders = [double.folder(name) for name in ("selected", "other")]
        self.made = lambda name, parent, folder: double.folder(name, parent) if folder else double.put(name, parent)
        self.moved = lambda id_, parent: double.change(id_, parent=parent)
        self.renamed = lambda id_, name: double.change(id_, name=name)
        self.written = lambda id_: double.write(id_, b"news")
        self.removed = double.delete
        self.name = lambda id_: str(double.items[id_]["name"])


async def _lived(drive: Drive, acts: Sequence[Act]) -> None:
    mirror = InMemorySync()
    at = connect(drive.provider, drive.clients, drive.accounts, selection={"folders": [drive.folders[0]]})
    for act in [*BEGUN, *acts, ("sync", 0, 0)]:
        if act[0] == "killed":
            mirror.kill_after_messages = act[1] % 12
            with suppress(SimulatedKill):
                await mirror.run(drive.provider, at)
            mirror.kill_after_messages = None
        elif act[0] == "sync":
            await mirror.run(drive.provider, at)
            mirrored = {id_: item.metadata["path"] for id_, item in mirror.items.items()}
            assert mirrored == drive.truth()
        else:
            drive.act(act)
    drive.double.assert_no_violations()


@pytest.mark.anyio
async def test_a_file_that_is_deleted_in_a_folder_that_went_before_is_not_mirrored() -> None:
    acts = [("sync", 1, 3), ("move", 5, 4), ("folder", 7, 2), ("remove", 2, 6)]
    await _lived(MicrosoftWorld(), acts)


@pytest.mark.parametrize("world", [GoogleWorld, MicrosoftWorld])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(acts=ACTS)
def test_the_mirror_is_what_is_selected_after_any_history(world: type[Drive], acts: list[Act]) -> None:
    asyncio.run(_lived(world(), acts))


TREES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*NAMES, "nowhere", None]))


@given(parents=TREES, roots=st.sets(st.sampled_from(NAMES)), leads=TREES)
def test_what_is_selected_is_what_leads_up_to_a_root(
    parents: dict[str, str | None], roots: set[str], leads: dict[str, str | None]
) -> None:
    folders = {id_: Folder(id_, parent) for id_, parent in parents.items()}
    shortcuts = {
        f"s{at}": Shortcut(parent or "", id_, is_folder=True) for at, (id_, parent) in enumerate(leads.items())
    }
    tree = FolderTree(frozenset(roots), folders, shortcuts)
    found = tree.selected_folders()
    # Every reason to be selected holds, and nothing is selected without one.
    for id_, folder in folders.items():
        behind = any(each.target == id_ and each.parent in found for each in shortcuts.values())
        reached = id_ in roots or folder.parent in found or behind
        assert (id_ in found) == reached
    assert found <= folders.keys()
    for id_ in folders:
        assert len(tree.path(id_).split("/")) <= len(folders)
        assert id_ in tree.descendants([id_])
