"""Parts of a site that a crawl is limited to, and where it finds the others."""

import pytest
from pydantic import TypeAdapter, ValidationError

from schemas.crawl_options import CrawlOptions, parse_crawl_options
from schemas.http.v5.connector_bodies import ConnectorBody
from tests.connectors.providers.web_crawler.conftest import WebCrawlerHarness
from tests.support.providers.web_site_double import SitePage

crawling = pytest.mark.anyio
PATHS = ("/guide/", "/guide/a", "/guide/print/a", "/guide/b?lang=de", "/blog/a", "/about")


def _fill(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", *PATHS)
    for path in PATHS:
        world.site.page(path, f"The page {path} has this text.", *PATHS)


@crawling
@pytest.mark.parametrize(
    ("start", "read"),
    [
        ("/guide/", {"/", *PATHS}),
        ("/guide/#scope=path", {"/guide/", "/guide/a", "/guide/print/a", "/guide/b?lang=de"}),
        ("/guide/a#scope=path", {"/guide/a"}),
        ("/#include=/guide/,/about", {"/", "/guide/", "/guide/a", "/guide/print/a", "/guide/b?lang=de", "/about"}),
        ("/guide/#scope=path&exclude=/*/print/&exclude=*lang=", {"/guide/", "/guide/a"}),
        ("/#include=/*/a$", {"/", "/guide/a", "/guide/print/a", "/blog/a"}),
    ],
)
async def test_a_crawl_reads_the_parts_that_it_is_told(world: WebCrawlerHarness, start: str, read: set[str]) -> None:
    _fill(world)
    world.start = f"{world.site.address}{start}"
    requested = await world.sync()
    assert world.paths() == read
    assert set(requested) == {*read, "/robots.txt", "/sitemap.xml"}


@crawling
async def test_pages_that_are_no_longer_in_the_scope_go(world: WebCrawlerHarness) -> None:
    _fill(world)
    await world.sync()
    world.start = f"{world.site.address}/#exclude=/blog/"
    await world.sync()
    assert world.paths() == {"/", *PATHS} - {"/blog/a"}


@crawling
async def test_a_redirect_out_of_the_scope_is_not_followed(world: WebCrawlerHarness) -> None:
    world.site.page("/guide/", "Welcome.", "/guide/moved")
    world.site.pages["/guide/moved"] = SitePage(b"", status=301, headers={"location": "/blog/a"})
    world.site.page("/blog/a", "This page lies elsewhere.")
    world.start = f"{world.site.address}/guide/#scope=path"
    assert "/blog/a" not in await world.sync()
    assert world.paths() == {"/guide/"}


@crawling
async def test_a_sitemap_that_robots_name_on_another_host_is_read_for_this_site_only(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.")
    world.site.page("/hidden", "Nothing links to this page.")
    world.site.robots("Sitemap: https://maps.test/map.xml\n")
    world.site.sitemap_hosts = {"maps.test"}
    index = "<sitemapindex><sitemap><loc>https://maps.test/a.xml</loc></sitemap><sitemap><loc>https://evil.test/b.xml</loc></sitemap></sitemapindex>"
    sitemap = "<urlset><url><loc>https://site.test/hidden</loc></url><url><loc>https://maps.test/x</loc></url></urlset>"
    world.site.pages["/map.xml"] = SitePage(index.encode(), "application/xml")
    world.site.pages["/a.xml"] = SitePage(sitemap.encode(), "application/xml")
    await world.sync()
    assert world.paths() == {"/", "/hidden"}


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://e.test/docs", True),
        ("https://e.test/docs/", True),
        ("https://e.test/docs/a?x=1", True),
        ("https://e.test/docs-old", False),
        ("https://e.test/", False),
    ],
)
def test_the_scope_of_a_path_ends_at_a_slash(url: str, *, allowed: bool) -> None:
    assert parse_crawl_options("https://e.test/docs#scope=path").allows(url) is allowed


def test_the_scope_of_a_file_is_its_folder() -> None:
    options = parse_crawl_options("https://e.test/docs/index.html#scope=path")
    assert options.allows("https://e.test/docs/a")
    assert not options.allows("https://e.test/a")


@pytest.mark.parametrize(
    "url", ["https://e.test/#top", "https://e.test/", "https://e.test/#/route", "https://e.test/#"]
)
def test_a_place_in_a_page_limits_nothing(url: str) -> None:
    assert parse_crawl_options(url) == CrawlOptions()


def test_many_wildcards_take_linear_time() -> None:
    options = CrawlOptions(exclude=("*a" * 40 + "*b$",))
    assert options.allows("https://e.test/" + "a" * 1400)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("https://ada:secret@e.test/", "user name or a password"),
        ("https://ada@e.test/", "user name or a password"),
        ("https://e.test/#scope=page", "neither site nor path"),
        ("https://e.test/#include=/a&depth=3", "unknown option 'depth'"),
        ("https://e.test/#exclude=a", "begins neither with / nor"),
        ("ftp://e.test/", "http or https"),
    ],
)
def test_a_start_url_that_can_not_be_right_is_refused(address: str, reason: str) -> None:
    body = {"provider": "web-crawler", "config": {"startUrl": address}}
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(ConnectorBody).validate_python(body)
    messages = [error["msg"] for error in refused.value.errors()]
    assert reason in messages[0]
    assert "secret" not in messages[0]
