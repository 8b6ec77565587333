"""All eight connectors against their doubles: documents arrive, change and disappear.

    make demo-connectors

The service is whole and in this process; what it thinks to be the providers are the doubles of the tests.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from connectors.client.http_client import origin
from tests.connectors.provider_contract import SourceDriver
from tests.connectors.providers.github.test_provider import GitHubSourceDriver
from tests.connectors.providers.granola.test_provider import GranolaSourceDriver
from tests.connectors.providers.notion.test_provider import NotionSourceDriver
from tests.connectors.providers.s3.test_provider import S3SourceDriver
from tests.connectors.providers.test_provider_contracts import (
    DriveSourceDriver,
    GmailSourceDriver,
    OneDriveSourceDriver,
    SiteSourceDriver,
)
from tests.support.asgi_server import serve_app
from tests.support.connectors.connected_service import ConnectedService, run_connected_service
from tests.support.providers.web_site_double import WebSiteDouble
from tools.s3_server import run_s3_server

KEYS = ("lighthouse", "kettle", "stove")


class OriginRouter(httpx2.AsyncBaseTransport):
    """The network: every origin is one double."""

    def __init__(self, sources: Mapping[str, SourceDriver]) -> None:
        self._ways = {
            origin(address): way
            for source in sources.values()
            if (way := source.transport()) is not None
            for address in _addresses(source)
        }

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._ways[origin(request.url)].handle_async_request(request)


def _addresses(source: SourceDriver) -> set[str]:
    oauth = source.provider.oauth
    return {*source.provider.api_origins, *([oauth.token_url] if oauth else [])}


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[dict[str, SourceDriver]]:
    """The sources by their providers' names; a site and, in this empty folder, an S3 server are served."""
    drive, mail, site = DriveSourceDriver(), GmailSourceDriver(), WebSiteDouble("127.0.0.1")
    mail.accounts = mail.mail.accounts = drive.accounts  # Google has one token endpoint for both
    async with serve_app(site) as address:
        with run_s3_server(folder) as store:
            yield {
                source.provider.name: source
                for source in (
                    NotionSourceDriver(),
                    GitHubSourceDriver(),
                    GranolaSourceDriver(),
                    S3SourceDriver(store),
                    drive,
                    mail,
                    OneDriveSourceDriver(),
                    SiteSourceDriver(site, address),
                )
            }


async def show(service: ConnectedService, name: str, source: SourceDriver) -> None:
    """One provider: three documents, then one more, one changed and one gone."""
    for key in KEYS:
        await source.put(key, f"The {key} is painted white.")
    connector = await service.create(name, name, **source.fields)
    run = await service.wait_for_run(connector)
    if source.selection is not None:
        body = {"selection": {kind: list(ids) for kind, ids in source.selection.items()}}
        await service.client.ok("PATCH", f"/ns/{name}/connectors/{connector}", body)
        run = await service.wait_for_run(connector, 2)
    _print_line(f"{name}: {run.status} in {source.call_count()} requests")
    for title in sorted(await service.documents(name)):
        _print_line(f"  + {title}")
    await source.put("kettle", "The kettle is painted red now.")
    await source.put("lamp", "The lamp came later.")
    await source.remove("stove")
    before = source.call_count()
    run = await service.sync(name, connector)
    _print_line(f"  {run.status} in {source.call_count() - before} requests")
    documents = await service.documents(name)
    _print_line(f"  + {source.title('lamp')}")
    _print_line(f"  ~ {source.title('kettle')}: {await _text(service, name, documents[source.title('kettle')]['id'])}")
    gone = source.title("stove")
    _print_line(f"  - {gone}" if gone not in documents else f"  {gone} is still there")


async def _text(service: ConnectedService, namespace: str, document: str) -> str:
    found: Any = await service.client.ok("GET", f"/ns/{namespace}/document/{document}")
    return " ".join(str(found["content"]).split())[:60]


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main() -> None:
    """The whole show."""
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryDirectory() as data:
        async with world(Path(store)) as sources:
            providers = {name: source.provider for name, source in sources.items()}
            way = OriginRouter(sources)
            async with run_connected_service(Path(data), providers, way, fetch_private_addresses=True) as service:
                for name, source in sources.items():
                    await show(service, name, source)
            for source in sources.values():
                await source.assert_no_violations()


if __name__ == "__main__":
    asyncio.run(main())
