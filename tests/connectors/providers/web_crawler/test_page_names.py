"""Secrets in the addresses of a site's pages are requested with, and kept nowhere."""

import pytest

from connectors.errors import UnusableSourceError
from tests.connectors.providers.web_crawler.conftest import WebCrawlerHarness
from tests.support.connectors.in_memory_sync import SimulatedKill
from tests.support.providers.web_site_double import SitePage

SECRET = "s3cretvalue"
crawling = pytest.mark.anyio


def _kept(world: WebCrawlerHarness) -> str:
    run = world.in_memory_sync
    return repr((run.items, run.failures, run.stored_state, run.cursor, run.messages))


@crawling
async def test_a_site_that_carries_its_token_along_is_read_without_keeping_it(world: WebCrawlerHarness) -> None:
    world.start = f"{world.site.address}/?token={SECRET}"
    world.site.page(f"/?token={SECRET}", "Welcome.", f"/a?token={SECRET}", f"/b?page=2&token={SECRET}", title="T")
    world.site.page(f"/a?token={SECRET}", "Page a.", title="T")
    world.site.page(f"/b?page=2&token={SECRET}", "Page b.", title="T")
    asked = await world.sync()
    assert world.paths() == {"/?token=***", "/a?token=***", "/b?page=2&token=***"}
    assert f"/a?token={SECRET}" in asked
    assert SECRET not in _kept(world)
    del world.site.pages[f"/a?token={SECRET}"]
    world.site.page(f"/?token={SECRET}", "Welcome.", f"/b?page=2&token={SECRET}", title="T")
    await world.sync()
    assert world.paths() == {"/?token=***", "/b?page=2&token=***"}


@crawling
async def test_links_signed_anew_each_time_name_the_same_documents(world: WebCrawlerHarness) -> None:
    for signature in (SECRET, "another0s1gnature"):
        world.site.page("/", "Welcome.", f"/file?sig={signature}", title="T")
        world.site.pages = {path: page for path, page in world.site.pages.items() if not path.startswith("/file")}
        world.site.page(f"/file?sig={signature}", "A file.", title="T")
        await world.sync()
        assert world.paths() == {"/", "/file?sig=***"}
        assert signature not in _kept(world)


@crawling
async def test_an_unchanged_page_is_read_again_if_only_it_knows_its_links(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", f"/file?sig={SECRET}", title="T")
    world.site.page(f"/file?sig={SECRET}", "A file.", title="T")
    await world.sync()
    world.site.page(f"/file?sig={SECRET}", "A file that changed.", title="T")
    await world.sync()
    assert "changed" in (world.in_memory_sync.items[f"{world.start}file?sig=***"].text or "")


@crawling
async def test_a_page_whose_link_can_not_be_read_keeps_its_document(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/list")
    world.site.page("/list", "A list.", f"/file?sig={SECRET}", title="T")
    world.site.page(f"/file?sig={SECRET}", "A file.", title="T")
    await world.sync()
    world.site.fail("/list", *[SitePage(b"", status=500)] * 5)
    await world.sync()
    assert "/file?sig=***" in world.paths()
    assert f"/file?sig={SECRET}" in await world.sync()


@crawling
@pytest.mark.parametrize("kill_after", [5, 30, 60])
async def test_a_killed_crawl_of_signed_links_loses_nothing(world: WebCrawlerHarness, kill_after: int) -> None:
    links = [f"/{number}?sig={SECRET}{number}" for number in range(30)]
    world.site.page("/", "Welcome.", *links)
    for number, link in enumerate(links):
        world.site.page(link, f"Page {number} has this text.", title="T")
    world.in_memory_sync.kill_after_messages = kill_after
    with pytest.raises(SimulatedKill):
        await world.sync()
    assert SECRET not in _kept(world)
    await world.sync()
    assert world.paths() == {"/", *(f"/{number}?sig=***" for number in range(30))}


@crawling
async def test_no_error_shows_a_secret(world: WebCrawlerHarness) -> None:
    world.start = f"{world.site.address}/?token={SECRET}"
    world.site.pages[f"/?token={SECRET}"] = SitePage(b"", status=403)
    with pytest.raises(UnusableSourceError, match=r"token=.*403") as caught:
        await world.sync()
    assert SECRET not in str(caught.value)
    world.site.pages[f"/?token={SECRET}"] = SitePage(
        b"", status=302, headers={"location": f"https://x.test/?sig={SECRET}"}
    )
    with pytest.raises(UnusableSourceError, match="leads to") as caught:
        await world.sync()
    assert SECRET not in str(caught.value)
