"""A secret in an address is kept like other secrets, and shown, logged and exported nowhere."""

import logging
from pathlib import Path

import httpx2
import pytest

from connectors.providers.web_crawler.provider import WebCrawler
from pipeline.runtime.log_format import configure_logging
from schemas.topics import SETTINGS_CHANGED
from tests.support.connectors.connected_service import ConnectedService, bytes_on_disk, run_connected_service
from tests.support.fakes import FixedClock
from tests.support.providers.web_site_double import SitePage, WebSiteDouble
from tests.support.service_world import wait_until

SECRETS = ("start-s3cret", "signature-s3cret")


class CrawlerOfADouble(WebCrawler):
    """Crawler that reaches a double."""

    api_origins = frozenset({"https://site.test", "https://zyxosite.test"})


def _site() -> WebSiteDouble:
    site = WebSiteDouble()
    token, signature = SECRETS
    site.page(f"/?token={token}", "The kettle is blue.", f"/file?sig={signature}", f"/gone?token={token}", title="T")
    site.page(f"/file?sig={signature}", "The kettle is old.", title="File")
    site.pages[f"/gone?token={token}"] = SitePage(b"", status=403)
    return site


async def _answers(world: ConnectedService, connector: str) -> list[str]:
    asked = [
        ("GET", f"/ns/alice/connectors/{connector}?include=syncs", None),
        ("GET", "/connectors", None),
        ("GET", f"/v3/connections/{connector}", None),
        ("POST", "/ns/alice/list/documents", {"include": {"content": True}}),
        ("POST", "/ns/alice/search", {"query": "kettle", "include": {"documents": True}}),
        ("POST", "/v3/documents/list", {"containerTags": ["alice"], "includeContent": True}),
        ("GET", "/admin/connectors", None),
        ("GET", "/admin/audit", None),
        ("GET", "/admin/failed", None),
        ("GET", "/admin/dlq", None),
        ("GET", "/admin/export", None),
        ("GET", "/admin/export?namespace=alice", None),
    ]
    return [(await world.client(method, path, body)).text for method, path, body in asked]


@pytest.mark.anyio
async def test_a_secret_in_the_address_of_a_site_is_kept_and_shown_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    configure_logging("info", "text")
    site = _site()
    with caplog.at_level(logging.INFO):
        async with run_connected_service(
            tmp_path, {"web-crawler": CrawlerOfADouble(clock=FixedClock())}, httpx2.ASGITransport(site)
        ) as world:
            config = {"startUrl": f"https://site.test/?token={SECRETS[0]}#include=/"}
            connector = await world.create("alice", "web-crawler", config=config)
            await world.wait_for_run(connector)
            shown = (await world.get("alice", connector))["config"]
            assert shown["startUrl"] == "https://site.test/?token=***#include=/"
            assert set(await world.documents("alice")) == {"T", "File"}
            answers = await _answers(world, connector)
            site.pages = {f"/?token={SECRETS[0]}": SitePage(b"", status=403)}
            answers.append(str((await world.sync("alice", connector)).model_dump()))
            answers += await _answers(world, connector)
    assert sum("https://site.test/file?sig=***" in answer for answer in answers) >= 4
    kept = bytes_on_disk(tmp_path)
    assert b"https://site.test/file?sig=***" in kept
    for secret in SECRETS:
        assert not [answer for answer in answers if secret in answer]
        assert secret.encode() not in kept
        assert secret not in caplog.text


@pytest.mark.anyio
async def test_an_erasure_leaves_nothing_of_a_removed_connector(tmp_path: Path) -> None:
    site = WebSiteDouble("zyxosite.test")
    site.page("/", "The kettle is blue.")
    async with run_connected_service(
        tmp_path, {"web-crawler": CrawlerOfADouble(clock=FixedClock())}, httpx2.ASGITransport(site)
    ) as world:
        connector = await world.create("alice", "web-crawler", config={"startUrl": "https://zyxosite.test/"})
        await world.wait_for_run(connector)
        await world.wait_until_idle()
        await world.client.ok("DELETE", f"/ns/alice/connectors/{connector}")

        async def is_gone() -> bool:
            return world.connectors.account_linking.registry.catalog.connector(connector) is None

        await wait_until(is_gone, "a removed connector")
        await world.wait_until_idle()
        assert b"zyxosite" in bytes_on_disk(tmp_path)
        await world.client.ok("POST", "/admin/erasures", {})
        rows = [record.content async for record in world.live.resources.bus.read(SETTINGS_CHANGED.name)]
        assert any(b'"gone"' in row for row in rows)
        assert not [row for row in rows if b"zyxosite" in row]


@pytest.mark.anyio
async def test_an_address_that_was_copied_from_an_answer_is_refused(tmp_path: Path) -> None:
    async with run_connected_service(tmp_path, {"web-crawler": CrawlerOfADouble(clock=FixedClock())}) as world:
        body = {"provider": "web-crawler", "config": {"startUrl": "https://site.test/?token=***"}}
        refused = await world.client("POST", "/ns/alice/connectors", body)
        assert refused.status_code == 400
        assert "in place of a secret" in refused.text
