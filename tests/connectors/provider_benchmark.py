"""How many calls and seconds a provider takes for so many items: figures of docs/connectors.md.

    python -m tests.connectors.provider_benchmark [--items 10000]

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

from connectors.client.http_client import HttpClients
from connectors.provider_interface import Connection, Provider
from connectors.providers.github.provider import GitHub
from connectors.providers.gmail.provider import Gmail
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google_drive.provider import GoogleDrive
from connectors.providers.granola.provider import Granola
from connectors.providers.notion.provider import Notion
from connectors.providers.onedrive.client import MicrosoftOAuthClient
from connectors.providers.onedrive.provider import OneDrive
from connectors.providers.s3 import provider as buckets
from connectors.providers.web_crawler.provider import WebCrawler
from connectors.sync_messages import Checkpoint, Cursor, ProviderState, RemovedItem, SourceItem
from tests.support.connectors.in_memory_sync import connect, http_clients
from tests.support.connectors.provider_harness import FixedTokenSource
from tests.support.fakes import FixedClock
from tests.support.providers.authorization_server import CLIENT_ID, CLIENT_SECRET
from tests.support.providers.github_double import API, GitHubDouble
from tests.support.providers.gmail_double import GmailDouble
from tests.support.providers.google_drive_double import FOLDER, GoogleDriveDouble
from tests.support.providers.granola_double import GranolaDouble
from tests.support.providers.notion_double import NotionDouble
from tests.support.providers.onedrive_double import OneDriveDouble
from tests.support.providers.provider_double import ReceivedRequest
from tests.support.providers.s3_double import BucketPrefix, S3FaultProxy
from tests.support.providers.web_site_double import WebSiteDouble
from tools.s3_server import S3Server, run_s3_server

FOLDERS = 100


class CallCounter(list[ReceivedRequest]):
    """Counts calls and keeps none: what grows is to be the provider's."""

    added = 0

    def append(self, call: ReceivedRequest) -> None:
        self.added += 1

    def __len__(self) -> int:
        return self.added


@dataclass
class VersionOnlySyncState:
    """`ports.Known` that keeps versions and notes, and no content."""

    items: dict[str, str] = field(default_factory=dict)
    stored_state: dict[str, str] = field(default_factory=dict)
    cursor: Cursor | None = None

    async def select_changed(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        return {id_ for id_, version in versions if self.items.get(id_) != version}

    async def item_versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for id_ in [id_ for id_ in self.items if id_.startswith(prefix)]:
            yield id_, self.items[id_]

    async def retryable_failures(self) -> list[str]:
        return []

    async def provider_state(self, keys: Sequence[str]) -> dict[str, str]:
        return {key: self.stored_state[key] for key in keys if key in self.stored_state}

    async def scan_provider_state(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for key in [key for key in self.stored_state if key.startswith(prefix)]:
            yield key, self.stored_state[key]

    async def run(self, provider: Provider, at: Connection) -> None:
        async for step in provider.sync(at, self.cursor, self):
            match step:
                case SourceItem():
                    self.items[step.id] = step.version
                case RemovedItem():
                    self.items.pop(step.id, None)
                case ProviderState(key, None):
                    self.stored_state.pop(key, None)
                case ProviderState(key, str() as value):
                    self.stored_state[key] = value
                case Checkpoint():
                    self.cursor = step.cursor


@dataclass(frozen=True)
class ProviderMeasurement:
    """A provider with its world, how calls are counted, and the least that its interface lets one do with."""

    name: str
    provider: Provider
    connection: Connection
    calls: Callable[[], int]
    minimum_calls: int


def drive(items: int) -> ProviderMeasurement:
    """Files in a hundred folders of one."""
    double = GoogleDriveDouble()
    double.calls = CallCounter()
    top = double.put("Top", double.root, FOLDER)
    folders = [double.put(f"{number}", top, FOLDER) for number in range(FOLDERS)]
    for number in range(items):
        double.put(f"{number}.txt", folders[number % FOLDERS], "text/plain", b"text")
    provider = GoogleDrive(GoogleOAuthClient(CLIENT_ID, CLIENT_SECRET, double.address), clock=FixedClock())
    at = connect(provider, http_clients(double), double.accounts, selection={"folders": [top]})
    # The place in the feed, the folder, two levels of folders, the pages of files, each file.
    return ProviderMeasurement("google-drive", provider, at, lambda: len(double.calls), 4 + -(-items // 1000) + items)


def onedrive(items: int) -> ProviderMeasurement:
    """Files in a hundred folders of one."""
    double = OneDriveDouble()
    double.calls = CallCounter()
    top = double.folder("Top")
    folders = [double.folder(f"{number}", top) for number in range(FOLDERS)]
    for number in range(items):
        double.put(f"{number}.txt", folders[number % FOLDERS])
    provider = OneDrive(MicrosoftOAuthClient(CLIENT_ID, CLIENT_SECRET), clock=FixedClock())
    at = connect(provider, http_clients(double, double), double.accounts, selection={"folders": [top]})
    least = -(-(items + FOLDERS + 2) // 200) + items
    return ProviderMeasurement("onedrive", provider, at, lambda: len(double.calls) + double.downloads, least)


def gmail(items: int) -> ProviderMeasurement:
    """Threads of one message."""
    double = GmailDouble()
    double.calls = CallCounter()
    for number in range(items):
        double.deliver(f"{number}", "text")
    provider = Gmail(GoogleOAuthClient(CLIENT_ID, CLIENT_SECRET, double.address), clock=FixedClock())
    at = connect(provider, http_clients(double), double.accounts)
    # The place in the history, the pages of threads, the names of labels, each thread.
    return ProviderMeasurement("gmail", provider, at, lambda: len(double.calls), 2 + -(-items // 500) + items)


def crawler(items: int) -> ProviderMeasurement:
    """Pages that a sitemap's worth of lists link to."""
    site = WebSiteDouble()
    lists = -(-items // 100)
    site.page("/", "All lists.", *[f"/list/{number}" for number in range(lists)])
    for number in range(lists):
        links = [f"/page/{number * 100 + each}" for each in range(100) if number * 100 + each < items]
        site.page(f"/list/{number}", f"List {number}.", *links)
    for number in range(items):
        site.page(f"/page/{number}", f"Page {number} tells of lighthouses.\nThey are painted in spring.")
    provider = WebCrawler(max_pages=2 * items, clock=FixedClock())
    config: dict[str, str | float | bool] = {"startUrl": f"{site.address}/", "crawlDepth": 3}
    at = connect(provider, http_clients(site, site), config=config)
    # robots.txt, a sitemap that is not there, and each page.
    return ProviderMeasurement("web-crawler", provider, at, lambda: len(site.requests), 2 + 1 + lists + items)


def site_with_sitemap(items: int) -> ProviderMeasurement:
    """Pages that a sitemap names and dates."""
    site = WebSiteDouble()
    site.page("/", "All pages.")
    for number in range(items):
        site.page(f"/page/{number}", f"Page {number} tells of lighthouses.\nThey are painted in spring.")
    site.sitemap({f"/page/{number}": "2025-01-01T00:00:00Z" for number in range(items)})
    provider = WebCrawler(max_pages=2 * items, clock=FixedClock())
    at = connect(provider, http_clients(site, site), config={"startUrl": f"{site.address}/"})
    return ProviderMeasurement("web-crawler, sitemap", provider, at, lambda: len(site.requests), 3 + items)


def github_files(items: int) -> ProviderMeasurement:
    """Files of one repository."""
    double = GitHubDouble(site=API)
    double.calls = CallCounter()
    repo = double.repo("octo/handbook", {f"{n % FOLDERS}/{n}.md": f"# {n}\n\ntext" for n in range(items)})
    provider = GitHub("id", "secret", site_url=API, clock=FixedClock())
    at = connect(provider, http_clients(double), selection={"repos": [str(repo.id)]})
    # The repository, its commit, its tree, one archive, issues and their comments.
    return ProviderMeasurement(
        "github, files", provider, with_token(at, "gho_good"), lambda: len(double.calls) + double.downloads, 8
    )


def github_issues(items: int) -> ProviderMeasurement:
    """Issues of one repository, with a comment each."""
    double = GitHubDouble()
    double.calls = CallCounter()
    repo = double.repo("octo/handbook")
    for number in range(items):
        repo.comment(repo.open(f"{number}", "text"), "text")
    provider = GitHub("id", "secret", clock=FixedClock())
    at = connect(provider, http_clients(double), selection={"repos": [str(repo.id)]})
    # The repository, its commit, a query for reviews, and two lists.
    least = 3 + 2 * -(-items // 100)
    return ProviderMeasurement("github, issues", provider, with_token(at, "gho_good"), lambda: len(double.calls), least)


def notion(items: int) -> ProviderMeasurement:
    """Pages of one workspace."""
    double = NotionDouble()
    double.calls = CallCounter()
    for number in range(items):
        double.page(f"{number}", "text")
    double.advance_clock()
    provider = Notion("client", "hush")
    at = connect(provider, http_clients(double))
    # The pages of the search, each page, and its author.
    least = -(-items // 100) + items + 1
    return ProviderMeasurement("notion", provider, with_token(at, "ntn_good"), lambda: len(double.calls), least)


def granola(items: int) -> ProviderMeasurement:
    """Notes of one key."""
    double = GranolaDouble()
    double.calls = CallCounter()
    for number in range(items):
        double.note(f"{number}", "text")
    provider = Granola()
    at = replace(connect(provider, http_clients(double)), secrets={"apiKey": "grn_good"})
    return ProviderMeasurement("granola", provider, at, lambda: len(double.calls), -(-items // 30) + items)


async def s3(items: int, server: S3Server) -> ProviderMeasurement:
    """Objects of a bucket at a real server, which shares the machine."""
    objects, door = BucketPrefix(server), S3FaultProxy()
    places = asyncio.Semaphore(32)

    async def put(number: int) -> None:
        async with places:
            await objects.put(f"{number}.md", "text")

    await asyncio.gather(*map(put, range(items)))
    provider = buckets.S3()
    provider.api_origins = frozenset({server.endpoint})  # of a customer's it would be guarded
    clients = HttpClients.open(transport=door)
    at = replace(connect(provider, clients, config=objects.config), secrets=objects.secrets)
    return ProviderMeasurement("s3", provider, at, lambda: len(door.calls), -(-items // 1000) + items)


def with_token(at: Connection, token: str) -> Connection:
    """With an access token that does not end."""
    at.http._token_source = FixedTokenSource(token)
    return at


async def measure(measured: ProviderMeasurement) -> str:
    """A row of the table."""
    process, ledger = psutil.Process(), VersionOnlySyncState()
    before = process.memory_info().rss
    begun = perf_counter()
    await ledger.run(measured.provider, measured.connection)
    seconds = perf_counter() - begun
    grown = (process.memory_info().rss - before) / 2**20
    calls = measured.calls()
    await ledger.run(measured.provider, measured.connection)
    again = measured.calls() - calls
    rate = len(ledger.items) / seconds
    figures = f"{len(ledger.items):,} | {calls:,} | {measured.minimum_calls:,} | {again:,} | {rate:,.0f} | {grown:,.0f}"
    return f"| {measured.name} | {figures} |"


async def main(items: int) -> None:
    """The whole table."""
    head = "| Provider | Items | Calls | Least | Calls with nothing new | Items/s | Memory grown by, MB |"
    for line in (head, "|---|---:|---:|---:|---:|---:|---:|"):
        sys.stdout.write(f"{line}\n")
    for make in (
        github_files,
        github_issues,
        notion,
        granola,
        drive,
        onedrive,
        gmail,
        crawler,
        site_with_sitemap,
    ):
        sys.stdout.write(f"{await measure(make(items))}\n")
        sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder, run_s3_server(Path(folder)) as server:
        sys.stdout.write(f"{await measure(await s3(items, server))}\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[sys.argv.index("--items") + 1]) if "--items" in sys.argv else 10_000))
