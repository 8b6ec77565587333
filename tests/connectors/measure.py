"""How many calls and seconds a provider takes for so many items: figures of docs/connectors.md.

    python -m tests.connectors.measure [--items 10000]

No engine is behind it and no pause between requests: measured are provider, double and judge.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import psutil

from connectors.http import Clients
from connectors.ports import Checkpoint, Connection, Cursor, Item, Note, Provider, Removed
from connectors.providers import s3 as buckets
from connectors.providers.github import GitHub
from connectors.providers.gmail import Gmail
from connectors.providers.google import GoogleClient
from connectors.providers.google_drive import GoogleDrive
from connectors.providers.granola import Granola
from connectors.providers.graph import MicrosoftClient
from connectors.providers.notion import Notion
from connectors.providers.onedrive import OneDrive
from connectors.providers.web_crawler import WebCrawler
from tests.connectors.doubles.accounts import CLIENT_ID, CLIENT_SECRET
from tests.connectors.doubles.double import Call
from tests.connectors.doubles.github import API, GitHubDouble
from tests.connectors.doubles.gmail import GmailDouble
from tests.connectors.doubles.google_drive import FOLDER, GoogleDriveDouble
from tests.connectors.doubles.granola import GranolaDouble
from tests.connectors.doubles.notion import NotionDouble
from tests.connectors.doubles.onedrive import OneDriveDouble
from tests.connectors.doubles.s3 import Door, Objects
from tests.connectors.doubles.web_crawler import Site
from tests.connectors.mirror import connection, network
from tests.connectors.providers.bench import Token
from tests.fakes import FixedClock
from tests.s3 import S3, served

FOLDERS = 100


class Tally(list[Call]):
    """Counts calls and keeps none: what grows is to be the provider's."""

    added = 0

    def append(self, call: Call) -> None:
        self.added += 1

    def __len__(self) -> int:
        return self.added


@dataclass
class Ledger:
    """`ports.Known` that keeps versions and notes, and no content."""

    items: dict[str, str] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)
    cursor: Cursor | None = None

    async def wanted(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        return {id_ for id_, version in versions if self.items.get(id_) != version}

    async def versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for id_ in [id_ for id_ in self.items if id_.startswith(prefix)]:
            yield id_, self.items[id_]

    async def failed(self) -> list[str]:
        return []

    async def notes(self, keys: Sequence[str]) -> dict[str, str]:
        return {key: self.noted[key] for key in keys if key in self.noted}

    async def all_notes(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for key in [key for key in self.noted if key.startswith(prefix)]:
            yield key, self.noted[key]

    async def run(self, provider: Provider, at: Connection) -> None:
        async for step in provider.sync(at, self.cursor, self):
            match step:
                case Item():
                    self.items[step.id] = step.version
                case Removed():
                    self.items.pop(step.id, None)
                case Note(key, None):
                    self.noted.pop(key, None)
                case Note(key, str() as value):
                    self.noted[key] = value
                case Checkpoint():
                    self.cursor = step.cursor


@dataclass(frozen=True)
class Measured:
    """A provider with its world, how calls are counted, and the least that its interface lets one do with."""

    name: str
    provider: Provider
    at: Connection
    calls: Callable[[], int]
    least: int


def drive(items: int) -> Measured:
    """Files in a hundred folders of one."""
    double = GoogleDriveDouble()
    double.calls = Tally()
    top = double.put("Top", double.root, FOLDER)
    folders = [double.put(f"{number}", top, FOLDER) for number in range(FOLDERS)]
    for number in range(items):
        double.put(f"{number}.txt", folders[number % FOLDERS], "text/plain", b"text")
    provider = GoogleDrive(GoogleClient(CLIENT_ID, CLIENT_SECRET, double.address), clock=FixedClock())
    at = connection(provider, network(double), double.accounts, selection={"folders": [top]})
    # The place in the feed, the folder, two levels of folders, the pages of files, each file.
    return Measured("google-drive", provider, at, lambda: len(double.calls), 4 + -(-items // 1000) + items)


def onedrive(items: int) -> Measured:
    """Files in a hundred folders of one."""
    double = OneDriveDouble()
    double.calls = Tally()
    top = double.folder("Top")
    folders = [double.folder(f"{number}", top) for number in range(FOLDERS)]
    for number in range(items):
        double.put(f"{number}.txt", folders[number % FOLDERS])
    provider = OneDrive(MicrosoftClient(CLIENT_ID, CLIENT_SECRET), clock=FixedClock())
    at = connection(provider, network(double, double), double.accounts, selection={"folders": [top]})
    least = -(-(items + FOLDERS + 2) // 200) + items
    return Measured("onedrive", provider, at, lambda: len(double.calls) + double.downloads, least)


def gmail(items: int) -> Measured:
    """Threads of one message."""
    double = GmailDouble()
    double.calls = Tally()
    for number in range(items):
        double.deliver(f"{number}", "text")
    provider = Gmail(GoogleClient(CLIENT_ID, CLIENT_SECRET, double.address), clock=FixedClock())
    at = connection(provider, network(double), double.accounts)
    # The place in the history, the pages of threads, the names of labels, each thread.
    return Measured("gmail", provider, at, lambda: len(double.calls), 2 + -(-items // 500) + items)


def crawler(items: int) -> Measured:
    """Pages that a sitemap's worth of lists link to."""
    site = Site()
    lists = -(-items // 100)
    site.page("/", "All lists.", *[f"/list/{number}" for number in range(lists)])
    for number in range(lists):
        links = [f"/page/{number * 100 + each}" for each in range(100) if number * 100 + each < items]
        site.page(f"/list/{number}", f"List {number}.", *links)
    for number in range(items):
        site.page(f"/page/{number}", f"Page {number} tells of lighthouses.\nThey are painted in spring.")
    provider = WebCrawler(pages=2 * items, clock=FixedClock())
    config: dict[str, str | float | bool] = {"startUrl": f"{site.address}/", "crawlDepth": 3}
    at = connection(provider, network(site, site), config=config)
    # robots.txt, a sitemap that is not there, and each page.
    return Measured("web-crawler", provider, at, lambda: len(site.requests), 2 + 1 + lists + items)


def mapped_site(items: int) -> Measured:
    """Pages that a sitemap names and dates."""
    site = Site()
    site.page("/", "All pages.")
    for number in range(items):
        site.page(f"/page/{number}", f"Page {number} tells of lighthouses.\nThey are painted in spring.")
    site.sitemap({f"/page/{number}": "2025-01-01T00:00:00Z" for number in range(items)})
    provider = WebCrawler(pages=2 * items, clock=FixedClock())
    at = connection(provider, network(site, site), config={"startUrl": f"{site.address}/"})
    return Measured("web-crawler, sitemap", provider, at, lambda: len(site.requests), 3 + items)


def github_files(items: int) -> Measured:
    """Files of one repository."""
    double = GitHubDouble(site=API)
    double.calls = Tally()
    repo = double.repo("octo/handbook", {f"{n % FOLDERS}/{n}.md": f"# {n}\n\ntext" for n in range(items)})
    provider = GitHub("id", "secret", site=API, clock=FixedClock())
    at = connection(provider, network(double), selection={"repos": [str(repo.id)]})
    # The repository, its commit, its tree, one archive, issues and their comments.
    return Measured(
        "github, files", provider, with_token(at, "gho_good"), lambda: len(double.calls) + double.downloads, 7
    )


def github_issues(items: int) -> Measured:
    """Issues of one repository, with a comment each."""
    double = GitHubDouble()
    double.calls = Tally()
    repo = double.repo("octo/handbook")
    for number in range(items):
        repo.comment(repo.open(f"{number}", "text"), "text")
    provider = GitHub("id", "secret", clock=FixedClock())
    at = connection(provider, network(double), selection={"repos": [str(repo.id)]})
    # The repository, its commit, and two lists.
    least = 2 + 2 * -(-items // 100)
    return Measured("github, issues", provider, with_token(at, "gho_good"), lambda: len(double.calls), least)


def notion(items: int) -> Measured:
    """Pages of one workspace."""
    double = NotionDouble()
    double.calls = Tally()
    for number in range(items):
        double.page(f"{number}", "text")
    double.tick()
    provider = Notion("client", "hush")
    at = connection(provider, network(double))
    # The pages of the search, each page, and its author.
    least = -(-items // 100) + items + 1
    return Measured("notion", provider, with_token(at, "ntn_good"), lambda: len(double.calls), least)


def granola(items: int) -> Measured:
    """Notes of one key."""
    double = GranolaDouble()
    double.calls = Tally()
    for number in range(items):
        double.note(f"{number}", "text")
    provider = Granola()
    at = replace(connection(provider, network(double)), secrets={"apiKey": "grn_good"})
    return Measured("granola", provider, at, lambda: len(double.calls), -(-items // 30) + items)


async def s3(items: int, server: S3) -> Measured:
    """Objects of a bucket at a real server, which shares the machine."""
    objects, door = Objects(server), Door()
    places = asyncio.Semaphore(32)

    async def put(number: int) -> None:
        async with places:
            await objects.put(f"{number}.md", "text")

    await asyncio.gather(*map(put, range(items)))
    provider = buckets.S3()
    provider.origins = frozenset({server.endpoint})  # of a customer's it would be guarded
    clients = Clients.open(transport=door)
    at = replace(connection(provider, clients, config=objects.config), secrets=objects.secrets)
    return Measured("s3", provider, at, lambda: len(door.calls), -(-items // 1000) + items)


def with_token(at: Connection, token: str) -> Connection:
    """With an access token that does not end."""
    at.http._access = Token(token)
    return replace(at, access=at.http._access)


async def measure(measured: Measured) -> str:
    """A row of the table."""
    process, ledger = psutil.Process(), Ledger()
    before = process.memory_info().rss
    begun = perf_counter()
    await ledger.run(measured.provider, measured.at)
    seconds = perf_counter() - begun
    grown = (process.memory_info().rss - before) / 2**20
    calls = measured.calls()
    await ledger.run(measured.provider, measured.at)
    again = measured.calls() - calls
    rate = len(ledger.items) / seconds
    figures = (
        f"{len(ledger.items):,} | {calls:,} | {measured.least:,} | {again:,} | {rate:,.0f} | {grown:,.0f}"
    )
    return f"| {measured.name} | {figures} |"


async def main(items: int) -> None:
    """The whole table."""
    head = "| Provider | Items | Calls | Least | Calls with nothing new | Items/s | Memory grown by, MB |"
    for line in (head, "|---|---:|---:|---:|---:|---:|---:|"):
        sys.stdout.write(f"{line}\n")
    for make in (github_files, github_issues, notion, granola, drive, onedrive, gmail, crawler, mapped_site):
        sys.stdout.write(f"{await measure(make(items))}\n")
        sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        sys.stdout.write(f"{await measure(await s3(items, server))}\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[sys.argv.index("--items") + 1]) if "--items" in sys.argv else 10_000))
