"""The crawler against a site of its own: manners, limits, and what changes."""

import gzip
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.client.http_client import HttpClients
from connectors.errors import ConnectorError, ProviderUnavailableError, RateLimitedError, ResourceFetchError
from connectors.providers.web_crawler.content import parse_page
from connectors.providers.web_crawler.robots_and_sitemaps import _parse_sitemap, is_in_the_past, rules_for_page
from connectors.providers.web_crawler.url_normalization import is_crawler_trap, normalize_url, site_of
from tests.connectors.providers.web_crawler.conftest import WebCrawlerHarness
from tests.support.connectors.in_memory_sync import SimulatedKill
from tests.support.providers.web_site_double import SitePage

crawling = pytest.mark.anyio


@crawling
async def test_a_site_is_mirrored_link_by_link(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome to the lighthouses.", "/paint", "/b/", "https://other.test/x", "mailto:a@b.c")
    world.site.page("/paint", "They are painted in spring.\nWhite first.", "/deep?utm_source=x#top")
    world.site.page("/b/", "Keepers live here.", "/paint")
    world.site.page("/deep", "The deepest page of them all.")
    await world.sync()
    assert world.paths() == {"/", "/paint", "/b/", "/deep"}
    item = world.in_memory_sync.items[f"{world.start}paint"]
    assert item.title == "paint"
    assert item.text is not None
    assert item.text.startswith("# paint\n\nThey are painted in spring.\n\nWhite first.")
    assert "rights reserved" not in item.text
    assert "Menu" not in item.text
    assert item.url == f"{world.start}paint"
    assert item.metadata["path"] == "/paint"
    assert item.metadata["site"] == "site.test"


@crawling
async def test_an_unchanged_site_is_asked_once_per_page_and_sends_nothing(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", *[f"/{number}" for number in range(10)])
    for number in range(10):
        world.site.page(f"/{number}", f"Page {number} has this text.", "/")
    await world.sync()
    calls = await world.sync()
    assert len(calls) == 11 + 2  # and robots.txt and sitemap.xml, which there are not
    assert world.site.statuses.count(304) == 11
    assert len(world.in_memory_sync.items) == 11


@crawling
async def test_a_page_that_changes_its_bytes_but_not_its_text_is_the_same(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", head="<meta name='token' content='1'>")
    world.site.pages["/"].sends_etag = False
    await world.sync()
    before = world.in_memory_sync.items[world.start]
    world.site.page("/", "Welcome.", head="<meta name='token' content='2'>")
    await world.sync()
    assert world.in_memory_sync.items[world.start] is before


@crawling
async def test_new_changed_and_gone_pages_follow(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/changes", "/goes", "/stays")
    for name in ("changes", "goes", "stays"):
        world.site.page(f"/{name}", f"At first {name} is here.")
    await world.sync()
    world.site.page("/", "Welcome.", "/changes", "/goes", "/stays", "/new")
    world.site.page("/changes", "Now it is another text.")
    world.site.page("/new", "This one came later.")
    del world.site.pages["/goes"]
    await world.sync()
    assert world.paths() == {"/", "/changes", "/stays", "/new"}
    assert "another" in (world.in_memory_sync.items[f"{world.start}changes"].text or "")


@crawling
async def test_a_page_that_nothing_leads_to_any_more_goes(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a")
    world.site.page("/a", "This page leads on.", "/b")
    world.site.page("/b", "This page is the last.")
    await world.sync()
    world.site.page("/a", "This page leads on no more.")
    await world.sync()
    assert world.paths() == {"/", "/a"}


@crawling
async def test_a_page_that_fails_keeps_its_document_and_is_tried_again(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a", "/b")
    world.site.page("/a", "This page fails.", "/c")
    world.site.page("/b", "This one does not.")
    world.site.page("/c", "This one is behind the failing one.")
    await world.sync()
    world.site.fail("/a", *[SitePage(b"", status=500)] * 5)
    await world.sync()
    assert {"/", "/a", "/b"} <= world.paths()
    assert world.in_memory_sync.failures[f"{world.start}a"].retryable
    await world.sync()
    assert world.paths() == {"/", "/a", "/b", "/c"}


@crawling
async def test_a_site_that_is_down_removes_nothing(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a")
    world.site.page("/a", "A page.")
    await world.sync()
    world.site.fail("/", *[SitePage(b"", status=502)] * 10)
    with pytest.raises(ProviderUnavailableError):
        await world.sync()
    assert world.paths() == {"/", "/a"}


@crawling
async def test_robots_are_obeyed_also_in_the_middle_of_a_name_and_by_the_longest_rule(
    world: WebCrawlerHarness,
) -> None:
    world.site.page("/", "Welcome.", "/private/a", "/private/open", "/x.pdf?print=1", "/ok")
    for path in ("/private/a", "/private/open", "/x.pdf?print=1", "/ok"):
        world.site.page(path, f"The page {path} has a text.")
    rules = "User-agent: *\nDisallow: /private/\nAllow: /private/open\nDisallow: /*?print\n"
    world.site.robots(rules, "/private/a", "/x.pdf?print=1")
    await world.sync()
    assert world.paths() == {"/", "/private/open", "/ok"}


@pytest.mark.parametrize(
    ("tags", "rules"),
    [
        (["noindex, nofollow"], {"noindex", "nofollow"}),
        (["NOINDEX nofollow"], {"noindex", "nofollow"}),
        (["otherbot: noindex, nofollow", "recollect: nosnippet"], {"nosnippet"}),
        (["otherbot: noindex, recollect: noindex"], {"noindex"}),
        (["otherbot: noindex", "nofollow"], {"nofollow"}),
        (["max-image-preview:none, max-snippet:-1"], set()),
        (["unavailable_after: Wednesday, 25-Jun-10 15:00:00 EST", "none"], {"none"}),
    ],
)
def test_rules_for_a_page_are_ours_if_they_name_no_other_crawler(tags: list[str], rules: set[str]) -> None:
    assert rules_for_page(tags) & {"noindex", "nofollow", "none", "nosnippet"} == rules


@crawling
async def test_headers_and_elements_about_another_crawler_keep_nothing_from_us(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a", "/b", "/c")
    world.site.page("/a", "A page.", head="<meta name='robots' content='max-image-preview:none'>")
    world.site.page("/b", "Another page.")
    world.site.pages["/b"].headers["x-robots-tag"] = "otherbot: noindex"
    world.site.page("/c", "A page that leads on.", "/d")
    world.site.pages["/c"].headers["x-robots-tag"] = "nofollow"
    world.site.page("/d", "A page that only /c leads to.")
    await world.sync()
    assert world.paths() == {"/", "/a", "/b", "/c"}


@crawling
async def test_a_site_that_answers_under_all_its_names_is_read_once(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a", "http://site.test/a", "https://www.site.test/a", "https://SITE.test:443/a")
    world.site.page("/a", "A page with several addresses.")
    await world.sync()
    assert set(world.in_memory_sync.items) == {"https://site.test/", "https://site.test/a"}


@crawling
@pytest.mark.parametrize(
    ("declared", "charset"), [("windows-1251", "cp1251"), ("x-sjis", "cp932"), ("gb2312", "gb18030")]
)
async def test_a_page_that_declares_its_charset_only_itself_is_read_in_it(
    world: WebCrawlerHarness, declared: str, charset: str
) -> None:
    words = {"cp1251": "Маяк красят весной.", "cp932": "灯台は春に塗られます。", "gb18030": "灯塔在春天粉刷镕。"}[
        charset
    ]
    head = f"<head><title>A</title><meta http-equiv='Content-Type' content='text/html; charset={declared}'></head>"
    world.site.page("/", "Welcome.", "/a")
    body = f"<html>{head}<body><main><h1>A</h1><p>{words}</p></main></body></html>".encode(charset)
    world.site.pages["/a"] = SitePage(body)
    await world.sync()
    assert words in (world.in_memory_sync.items[f"{world.start}a"].text or "")


@crawling
async def test_robots_that_begin_with_a_byte_order_mark_are_obeyed(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a", "/b")
    world.site.page("/a", "A page.")
    world.site.page("/b", "Another page.")
    world.site.robots("\ufeffUser-agent: *\r\nDisallow: /b\r\n", "/b")
    await world.sync()
    assert world.paths() == {"/", "/a"}


@crawling
@pytest.mark.parametrize(
    "body", [b"<!doctype html><title>A</title><p>The lamp is lit at dusk.", b"The lamp is lit at dusk."]
)
async def test_an_answer_without_a_type_is_what_it_looks_like(world: WebCrawlerHarness, body: bytes) -> None:
    world.site.page("/", "Welcome.", "/a")
    world.site.pages["/a"] = SitePage(body, media="")
    await world.sync()
    item = world.in_memory_sync.items[f"{world.start}a"]
    assert "The lamp is lit" in (item.text or (item.file.data.decode() if item.file else ""))


@crawling
async def test_rules_for_us_by_name_come_first_and_the_delay_is_kept(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a", "/b")
    world.site.page("/a", "A page.")
    world.site.page("/b", "Another page.")
    world.site.robots("User-agent: *\nDisallow: /\n\nUser-agent: recollect\nCrawl-delay: 3\nDisallow: /b\n", "/b")
    await world.sync()
    assert world.paths() == {"/", "/a"}
    assert world.virtual_sleep.requested_seconds.count(3.0) == 2


@crawling
async def test_robots_that_can_not_be_had_forbid_everything_and_remove_nothing(
    world: WebCrawlerHarness,
) -> None:
    world.site.page("/", "Welcome.")
    await world.sync()
    world.site.fail("/robots.txt", *[SitePage(b"", status=503)] * 10)
    with pytest.raises(ProviderUnavailableError, match=r"robots\.txt"):
        await world.sync()
    assert world.paths() == {"/"}


@crawling
async def test_a_start_page_that_robots_forbid_is_said_so(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.")
    world.site.robots("User-agent: *\nDisallow: /\n", "/")
    world.site.forbidden = set()
    await world.sync()
    assert world.in_memory_sync.failures[world.start].code == "not_allowed"
    assert not world.in_memory_sync.items


@crawling
async def test_sitemaps_bring_pages_that_nothing_links_to(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.")
    world.site.page("/hidden", "Nothing links to this page.")
    world.site.page("/zipped", "Nothing links to this one either.")
    world.site.robots("Sitemap: https://site.test/map.xml\n")
    index = "<sitemapindex><sitemap><loc>https://site.test/a.xml</loc></sitemap><sitemap><loc>/b.xml.gz</loc></sitemap><sitemap><loc>https://evil.test/map.xml</loc></sitemap></sitemapindex>"
    namespace = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
    sitemap = f"<urlset {namespace}><url><loc>https://site.test/hidden</loc></url><url><loc>https://evil.test/x</loc></url></urlset>"
    two = f"<urlset {namespace}><url><loc>https://site.test/zipped</loc></url></urlset>"
    world.site.pages["/map.xml"] = SitePage(index.encode(), "application/xml")
    world.site.pages["/a.xml"] = SitePage(sitemap.encode(), "application/xml")
    world.site.pages["/b.xml.gz"] = SitePage(gzip.compress(two.encode()), "application/gzip")
    await world.sync()
    assert world.paths() == {"/", "/hidden", "/zipped"}


@pytest.fixture
def dated(world: WebCrawlerHarness) -> dict[str, str]:
    """Ten pages that the sitemap dates, each of which leads to the next."""
    paths = [f"/{number}" for number in range(10)]
    world.site.page("/", "Welcome.", "/0")
    for number, path in enumerate(paths):
        world.site.page(path, f"Page {number} has this text.", f"/{number + 1}" if number < 9 else "/", "/loose")
    world.site.page("/loose", "No sitemap names this page.")
    dated = dict.fromkeys(paths, "2026-03-01T10:00:00Z")
    world.site.sitemap(dated)
    return dated


@crawling
async def test_what_the_sitemap_dates_as_before_is_not_asked_for(
    world: WebCrawlerHarness, dated: dict[str, str]
) -> None:
    await world.sync()
    assert sorted(await world.sync()) == ["/", "/loose", "/robots.txt", "/sitemap.xml"]
    world.site.page("/3", "Page 3 is another now.", "/new")
    world.site.page("/4", "Page 4 is another, and the sitemap does not say so.", "/5")
    world.site.page("/new", "This one is new.")
    del dated["/9"], world.site.pages["/9"]
    world.site.page("/8", "Page 8 leads no further.")
    changed = dict.fromkeys(["/3", "/8"], "2026-03-09T10:00:00+01:00")
    world.site.sitemap(dated | changed)
    assert sorted(await world.sync()) == ["/", "/3", "/8", "/loose", "/new", "/robots.txt", "/sitemap.xml"]
    assert world.paths() == {"/", "/loose", "/new", *(f"/{number}" for number in range(9))}
    assert "another" in (world.in_memory_sync.items[f"{world.start}3"].text or "")
    world.in_memory_sync.cursor, world.in_memory_sync.full_sync = None, True
    assert len(await world.sync()) == 12 + 2
    assert "another" in (world.in_memory_sync.items[f"{world.start}4"].text or "")


@crawling
async def test_a_page_that_failed_is_asked_for_again_whatever_the_sitemap_says(
    world: WebCrawlerHarness, dated: dict[str, str]
) -> None:
    await world.sync()
    world.site.sitemap(dated | {"/5": "2026-03-09T10:00:00Z"})
    world.site.fail("/5", *[SitePage(b"", status=500)] * 5)
    await world.sync()
    world.site.page("/5", "This page is another now.", "/6")
    assert "/5" in await world.sync()
    assert "another" in (world.in_memory_sync.items[f"{world.start}5"].text or "")
    assert "/5" not in await world.sync()


@crawling
async def test_a_day_that_is_not_over_is_not_believed(world: WebCrawlerHarness, dated: dict[str, str]) -> None:
    world.site.sitemap(dated | {"/5": "2026-03-10", "/6": "yesterday", "/7": "2026-03-09"})
    await world.sync()
    assert {"/5", "/6", "/7"}.intersection(await world.sync()) == {"/5", "/6"}
    world.clock.advance(24 * 3600)
    assert "/5" in await world.sync()
    assert "/5" not in await world.sync()


@crawling
@pytest.mark.parametrize("steps", [2, 5, 9])
async def test_a_light_crawl_that_was_killed_begins_again(
    world: WebCrawlerHarness, dated: dict[str, str], steps: int
) -> None:
    await world.sync()
    for path in ("/2", "/7"):
        world.site.page(path, "This page is another now.", "/3", "/8")
    world.site.sitemap(dated | dict.fromkeys(["/2", "/7"], "2026-03-09T10:00:00Z"))
    world.in_memory_sync.kill_after_messages = steps
    with suppress(SimulatedKill):
        await world.sync()
    await world.sync()
    assert len(world.paths()) == 12
    for path in ("2", "7"):
        assert "another" in (world.in_memory_sync.items[f"{world.start}{path}"].text or "")


@pytest.mark.parametrize(
    ("changed", "over"),
    [
        ("2026-03-10T11:59:59Z", True),
        ("2026-03-10T12:59:59+01:00", True),
        ("2026-03-10T11:59:59", True),
        ("2026-03-10T12:00:01Z", False),
        ("2026-03-09", True),
        ("2026-03-10", False),
        ("2026-03", False),
        ("", False),
        ("soon", False),
        ("9999-12-31", False),
    ],
)
def test_a_time_of_change_counts_once_it_is_over(changed: str, *, over: bool) -> None:
    assert is_in_the_past(changed, datetime(2026, 3, 10, 12, tzinfo=UTC)) is over


@crawling
async def test_a_sitemap_can_not_read_files_or_fill_the_memory(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.")
    bomb = "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'><!ENTITY a 'aaaaaaaaaa'>"
    bomb += "".join(f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(12))
    bomb += "]><urlset><url><loc>https://site.test/&f;&m;</loc></url></urlset>"
    world.site.pages["/sitemap.xml"] = SitePage(bomb.encode(), "application/xml")
    await world.sync()
    assert world.paths() == {"/"}


@crawling
async def test_a_crawl_goes_as_deep_as_it_was_told(world: WebCrawlerHarness) -> None:
    for number in range(6):
        world.site.page("/" if number == 0 else f"/{number}", f"Page {number} of the chain.", f"/{number + 1}")
    world.depth = 2
    await world.sync()
    assert world.paths() == {"/", "/1", "/2"}


@crawling
async def test_a_crawl_asks_for_no_more_pages_than_it_may(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", *[f"/{number}" for number in range(50)])
    for number in range(50):
        world.site.page(f"/{number}", f"Page {number} has this text.")
    world.pages = 20
    calls = await world.sync()
    assert len(world.in_memory_sync.items) == 20
    assert len(calls) == 22


@crawling
async def test_a_calendar_without_an_end_ends(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/calendar")
    site = world.site

    class Endless(dict[str, SitePage]):
        def get(self, path: str, default: object = None) -> SitePage | None:  # type: ignore[override]  # a narrower one is enough
            if path.startswith("/calendar"):
                links = f"<a href='{path}/next'>next</a><a href='{path}?day={len(path)}'>day</a>"
                return SitePage(f"<html><body><p>A calendar page {path}</p>{links}</body></html>".encode())
            return super().get(path)

    site.pages = Endless(site.pages)
    world.depth = 5
    calls = await world.sync()
    assert len(calls) < 40


@crawling
async def test_a_page_under_two_addresses_is_one_document(world: WebCrawlerHarness) -> None:
    head = "<link rel='canonical' href='/shoes'>"
    world.site.page("/", "Welcome.", "/shoes?sort=price", "/shoes?sort=name", "/shoes")
    for path in ("/shoes?sort=price", "/shoes?sort=name", "/shoes"):
        world.site.page(path, "Shoes for sale, all sizes.", title="Shoes", head=head)
    await world.sync()
    assert world.paths() == {"/", "/shoes"}
    await world.sync()
    assert world.paths() == {"/", "/shoes"}


@crawling
async def test_a_canonical_link_to_the_home_page_discards_no_page(world: WebCrawlerHarness) -> None:
    head = "<link rel='canonical' href='/'>"
    world.site.page("/", "Welcome.", "/a", "/index.html", head=head)
    world.site.page("/a", "This page is not the home page.", head=head)
    world.site.page("/index.html", "Welcome.", head=head)
    await world.sync()
    assert world.paths() == {"/", "/a"}


@crawling
async def test_an_address_with_the_ending_of_a_file_is_asked_and_its_type_decides(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/node.js", "/notes.xml", "/plan.docx", "/data.json", "/app.js")
    world.site.page("/node.js", "A page about a program.")
    world.site.page("/notes.xml", "A page about a format.")
    world.site.pages["/plan.docx"] = SitePage(
        b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    )
    world.site.pages["/data.json"] = SitePage(b"{}", "application/json")
    world.site.pages["/app.js"] = SitePage(b"run()", "text/javascript")
    await world.sync()
    assert world.paths() == {"/", "/node.js", "/notes.xml", "/plan.docx"}


@crawling
async def test_a_page_that_sends_browsers_on_leads_there(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", head="<meta http-equiv='Refresh' content='0; URL=\"/en/\"'>")
    world.site.page("/en/", "The English pages.")
    await world.sync()
    assert world.paths() == {"/", "/en/"}


@crawling
async def test_a_page_that_needs_javascript_is_named_as_such(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/app")
    world.site.pages["/app"] = SitePage(b"<title>App</title><body><div id=root></div><script src=a.js></script>")
    await world.sync()
    assert world.paths() == {"/"}
    assert world.in_memory_sync.failures[f"{world.start}app"].code == "needs_javascript"


@crawling
@pytest.mark.parametrize(
    ("sitemap", "media"),
    [
        ("https://site.test/hidden\nhttps://site.test/second\n", "text/plain"),
        ("<urlset><url><loc>https://site.test/hidden</loc></url><url><loc>/second?a=1&b</loc></url><url", "text/xml"),
        (
            "<rss><channel><item><link>/hidden</link></item><item><link>/second</link></item></channel></rss>",
            "text/xml",
        ),
        ("<feed><entry><link href='/hidden'/></entry><entry><link href='/second'/></entry></feed>", "text/xml"),
    ],
)
async def test_sitemaps_of_every_form_are_read(world: WebCrawlerHarness, sitemap: str, media: str) -> None:
    world.site.page("/", "Welcome.")
    world.site.page("/hidden", "Nothing links to this page.")
    world.site.page("/second", "Nothing links to this one either.")
    world.site.page("/second?a=1&b", "Nothing links to this one either.")
    world.site.pages["/sitemap.xml"] = SitePage(sitemap.encode(), media)
    await world.sync()
    assert len(world.paths()) == 3


def test_a_sitemap_of_marks_that_never_close_ends() -> None:
    assert _parse_sitemap(b"<urlset>" + b"<![CDATA[" * 500_000) == []
    assert _parse_sitemap("\ufeff<urlset>".encode("utf-16-le") + "<?xml ".encode("utf-16-le") * 300_000) == []
    ended = b"<urlset><url><loc><![CDATA[https://site.test/?a=1&b]]></loc></url><url><loc>/c?d&e</loc></url></urlset>"
    assert [url for _, url, _ in _parse_sitemap(ended)] == ["https://site.test/?a=1&b", "/c?d&e"]


@crawling
@pytest.mark.parametrize("address", ["http://[domain]/sitemap.xml", "https://site.test:port/sitemap.xml"])
async def test_robots_with_an_address_that_is_none_end_no_crawl(world: WebCrawlerHarness, address: str) -> None:
    world.site.page("/", "Welcome.")
    world.site.pages["/robots.txt"] = SitePage(f"Sitemap: {address}".encode(), "text/plain")
    await world.sync()
    assert world.paths() == {"/"}


@crawling
async def test_many_failing_pages_in_a_row_do_not_end_a_crawl(world: WebCrawlerHarness) -> None:
    names = [f"/{number}" for number in range(8)]
    world.site.page("/", "Welcome.", *names)
    for name in names:
        world.site.page(name, f"The page {name} is here.")
        world.site.fail(name, *[SitePage(b"", status=500)] * 5) if name < "/6" else None
    await world.sync()
    assert world.paths() == {"/", "/6", "/7"}
    assert len(world.in_memory_sync.failures) == 6
    await world.sync()
    assert world.paths() == {"/", *names}


@crawling
async def test_a_name_on_another_site_is_not_believed(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", head="<link rel='canonical' href='https://evil.test/'>")
    await world.sync()
    assert world.paths() == {"/"}


@crawling
async def test_pages_that_do_not_want_to_be_kept_are_not_and_links_are_followed(
    world: WebCrawlerHarness,
) -> None:
    world.site.page("/", "Welcome.", "/list", "/tagged", "/closed")
    world.site.page("/list", "A list of pages.", "/a", head="<meta name='robots' content='noindex'>")
    world.site.page("/tagged", "A page with a tag.")
    world.site.pages["/tagged"].headers["x-robots-tag"] = "noindex"
    world.site.page("/closed", "Its links lead nowhere.", "/b", head="<meta name='robots' content='nofollow'>")
    world.site.page("/a", "This page is kept.")
    world.site.page("/b", "Only a closed page leads here.")
    await world.sync()
    assert world.paths() == {"/", "/a", "/closed"}


@crawling
async def test_redirects_stay_within_the_site_and_circles_end(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/old", "/out", "/circle", "/inside")
    world.site.pages["/old"] = SitePage(b"", status=301, headers={"location": "/new"})
    world.site.pages["/out"] = SitePage(b"", status=302, headers={"location": "https://evil.test/"})
    world.site.pages["/inside"] = SitePage(b"", status=302, headers={"location": "http://169.254.169.254/"})
    world.site.pages["/circle"] = SitePage(b"", status=302, headers={"location": "/circle2"})
    world.site.pages["/circle2"] = SitePage(b"", status=302, headers={"location": "/circle"})
    world.site.page("/new", "The page has moved here.")
    await world.sync()
    assert world.paths() == {"/", "/new"}


@crawling
async def test_a_site_that_lives_under_www_with_tls_is_one_site(world: WebCrawlerHarness) -> None:
    world.start = "http://site.test/"
    world.site.pages["/robots.txt"] = SitePage(b"", "text/plain")
    world.site.page("/", "Welcome.", "http://site.test/a", "https://www.site.test/a")
    world.site.page("/a", "A page with several addresses.")
    world.site.fail("/", SitePage(b"", status=301, headers={"location": "https://www.site.test/"}))
    await world.sync()
    assert set(world.in_memory_sync.items) == {"https://www.site.test/", "https://www.site.test/a"}


@crawling
async def test_a_start_page_that_leads_elsewhere_is_said_so(world: WebCrawlerHarness) -> None:
    world.site.pages["/"] = SitePage(b"", status=301, headers={"location": "https://other.test/"})
    with pytest.raises(ConnectorError, match=r"other\.test"):
        await world.sync()


@crawling
async def test_a_start_page_that_is_not_there_is_said_so_and_removes_nothing(
    world: WebCrawlerHarness,
) -> None:
    world.site.page("/", "Welcome.")
    await world.sync()
    del world.site.pages["/"]
    with pytest.raises(ConnectorError, match="404"):
        await world.sync()
    assert world.paths() == {"/"}


@crawling
async def test_texts_and_pdfs_are_kept_as_files_and_pictures_are_not_asked_for(
    world: WebCrawlerHarness,
) -> None:
    world.site.page("/", "Welcome.", "/a.txt", "/b.pdf", "/c.png", "/d.zip", "/picture")
    world.site.pages["/a.txt"] = SitePage(b"A plain text.", "text/plain")
    world.site.pages["/b.pdf"] = SitePage(b"%PDF-1.4", "application/pdf")
    world.site.pages["/picture"] = SitePage(b"\x89PNG", "image/png")
    calls = await world.sync()
    assert world.paths() == {"/", "/a.txt", "/b.pdf"}
    assert "/c.png" not in calls
    assert "/d.zip" not in calls


@crawling
async def test_a_bomb_is_not_unpacked_and_the_crawl_goes_on(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/bomb", "/ok")
    bomb = gzip.compress(b"<p>" + b"0" * 60_000_000)
    world.site.pages["/bomb"] = SitePage(bomb, headers={"content-encoding": "gzip"}, sends_etag=False)
    world.site.page("/ok", "A good page.")
    await world.sync()
    assert world.paths() == {"/", "/ok"}
    assert world.in_memory_sync.failures[f"{world.start}bomb"].code == "too_large"


@crawling
@pytest.mark.parametrize("body", ["<div>" * 100_000, "", "\x00\x01", "<html><!-- ", "&#0;" * 1000, "<a href='"])
async def test_markup_that_is_none_harms_nobody(world: WebCrawlerHarness, body: str) -> None:
    world.site.page("/", "Welcome.", "/odd", "/ok")
    world.site.pages["/odd"] = SitePage(body.encode())
    world.site.page("/ok", "A good page.")
    await world.sync()
    assert {"/", "/ok"} <= world.paths()


@crawling
async def test_private_addresses_are_not_asked(world: WebCrawlerHarness) -> None:
    world.clients = HttpClients.open()
    for address in ("http://127.0.0.1:1/", "http://[::1]/", "http://2130706433/", "http://169.254.169.254/"):
        world.start = address
        with pytest.raises(ResourceFetchError):
            await world.sync()
    await world.clients.aclose()


@crawling
async def test_a_site_that_asks_for_patience_gets_it(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a")
    world.site.page("/a", "A page.")
    world.site.fail("/a", SitePage(b"", status=429, headers={"retry-after": "30"}))
    await world.sync()
    assert world.paths() == {"/", "/a"}
    assert max(world.virtual_sleep.requested_seconds) > 29
    for path in ("/", "/a"):
        world.site.fail(path, SitePage(b"", status=429, headers={"retry-after": "86400"}))
    with pytest.raises(RateLimitedError):
        await world.sync()
    assert world.paths() == {"/", "/a"}


@crawling
@pytest.mark.parametrize("wait", [{"retry-after": "86400"}, {}])
async def test_a_page_that_always_asks_for_patience_ends_no_crawl(
    world: WebCrawlerHarness, wait: dict[str, str]
) -> None:
    others = [f"/{number}" for number in range(6)]
    world.site.page("/", "Welcome.", "/a", *others)
    for path in others:
        world.site.page(path, f"The text of {path}.", "/a")
    world.site.pages["/a"] = SitePage(b"", status=429, headers=wait)
    await world.sync()
    assert world.paths() == {"/", *others}
    failure = world.in_memory_sync.failures[f"{world.start}a"]
    assert (failure.code, failure.retryable) == ("rate_limited", True)
    world.site.page("/a", "A page.")
    await world.sync()
    assert "/a" in world.paths()
    assert not world.in_memory_sync.failures


@crawling
async def test_a_site_of_which_no_page_answers_ends_the_crawl_soon(world: WebCrawlerHarness) -> None:
    pages = [f"/{number}" for number in range(30)]
    world.site.page("/", "Welcome.", *pages)
    for path in pages:
        world.site.pages[path] = SitePage(b"", status=429, headers={"retry-after": "3600"})
    with pytest.raises(RateLimitedError):
        await world.sync()
    assert len(world.site.requests) < 10
    for path in pages:
        world.site.page(path, f"The text of {path}.")
    await world.sync()
    assert world.paths() == {"/", *pages}


@crawling
async def test_a_sitemap_that_asks_for_patience_ends_no_crawl(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/a")
    world.site.page("/a", "A page.")
    world.site.pages["/sitemap.xml"] = SitePage(b"", status=429, headers={"retry-after": "3600"})
    await world.sync()
    assert world.paths() == {"/", "/a"}


@crawling
async def test_a_canonical_address_may_be_in_the_header(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", "/print/shoes", "/shoes")
    for path in ("/print/shoes", "/shoes"):
        world.site.page(path, "All about shoes.")
        link = f'<{world.start}style.css>; rel=preload, <{world.start}shoes>; rel="canonical"'
        world.site.pages[path].headers["link"] = link
    await world.sync()
    assert world.paths() == {"/", "/shoes"}


@crawling
@pytest.mark.parametrize(
    "data",
    [
        '{"@type": "NewsArticle", "datePublished": "2026-02-03T08:00:00+01:00", "dateModified": "2026-02-05"}',
        (
            '{"@graph": [{"@type": "WebSite", "datePublished": "2001-01-01"}, {"@type": ["BlogPosting"],'
            ' "datePublished": "2026-02-03T08:00:00+01:00", "dateModified": "2026-02-05"}]}'
        ),
        (
            '[{"@type": "BreadcrumbList"}, {"@type": "WebPage", "datePublished": "2026-02-03T08:00:00+01:00",'
            ' "dateModified": "2026-02-05", "mainEntity": {"@type": "Comment", "datePublished": "2020-01-01"}}]'
        ),
    ],
)
async def test_dates_are_read_from_structured_data(world: WebCrawlerHarness, data: str) -> None:
    head = f"<script type='application/ld+json'>{data}</script><script type='application/ld+json'>{{oops</script>"
    world.site.page("/", "Welcome to our news.", head=head)
    await world.sync()
    item = world.in_memory_sync.items[world.start]
    assert item.metadata["publishedAt"] == "2026-02-03T08:00:00+01:00"
    assert item.metadata["updatedAt"] == "2026-02-05"


@crawling
@pytest.mark.parametrize("kill_after", [1, 5, 40, 90, 140])
async def test_a_killed_crawl_continues_and_loses_nothing(world: WebCrawlerHarness, kill_after: int) -> None:
    names = [f"/{number}" for number in range(60)]
    world.site.page("/", "Welcome.", *names[:30])
    for number, name in enumerate(names):
        world.site.page(name, f"Page {number} has this text.", *names[30:])
    world.in_memory_sync.kill_after_messages = kill_after
    with pytest.raises(SimulatedKill):
        await world.sync()
    await world.sync()
    assert world.paths() == {"/", *names}
    calls = await world.sync()
    assert len(calls) == 63


@crawling
async def test_what_the_limit_leaves_out_is_not_asked_for(world: WebCrawlerHarness) -> None:
    world.site.page("/", "Welcome.", *[f"/{number}" for number in range(30)])
    for number in range(30):
        world.site.page(f"/{number}", f"Page {number} has this text.")
    world.in_memory_sync.document_limit = 5
    await world.sync()
    assert len(world.in_memory_sync.items) == 5
    world.site.page("/0", "This page has changed.")
    await world.sync()
    assert len(world.in_memory_sync.items) == 5
    assert "changed" in (world.in_memory_sync.items[f"{world.start}0"].text or "")


def test_an_address_is_written_in_one_way() -> None:
    assert normalize_url("HTTP://Example.COM:80/a/../b/./c?utm_source=x&q=1#top") == "http://example.com/b/c?q=1"
    assert normalize_url("/x y?a=b%20c", "https://e.test/d/") == "https://e.test/x%20y?a=b%20c"
    assert normalize_url("../up", "https://e.test/a/b/c") == "https://e.test/a/up"
    assert normalize_url("https://user:secret@e.test/a;jsessionid=12?PHPSESSID=3") == "https://e.test/a"
    assert normalize_url("https://bücher.test/%7Ea/ü") == "https://bücher.test/~a/%C3%BC"
    assert normalize_url("https://e.test/a%2fb/.well-known/x;v=1?q=a+b&flag&r=%2F") == (
        "https://e.test/a%2Fb/.well-known/x;v=1?q=a+b&flag&r=%2F"
    )
    assert normalize_url("https://e.test/100%?a=50%&gclid=1") == "https://e.test/100%25?a=50%25"
    assert normalize_url("\\up\\x?a=\\", "https://e.test/d/") == "https://e.test/up/x?a=%5C"
    assert normalize_url("https://xn--bcher-kva.test/") == "https://bücher.test/"
    assert normalize_url("javascript:alert(1)") is None
    assert normalize_url("https://e.test:99999/") is None


@given(st.text(max_size=60))
def test_writing_an_address_again_changes_nothing(text: str) -> None:
    once = normalize_url(text, "https://e.test/a/b")
    assert once is None or normalize_url(once) == once


def test_what_belongs_to_a_site() -> None:
    assert site_of("https://www.e.test/a") == site_of("http://e.test/b")
    assert site_of("https://e.test:8443/") != site_of("https://e.test/")
    assert site_of("https://sub.e.test/") != site_of("https://e.test/")


def test_what_leads_astray() -> None:
    assert is_crawler_trap("https://e.test/a/a/a/b")
    assert is_crawler_trap("https://e.test/" + "a/" * 3)
    assert is_crawler_trap("https://e.test/?" + "&".join(f"a{n}=1" for n in range(9)))
    assert not is_crawler_trap("https://e.test/docs/2026/03/a-page?lang=en")


ARTICLE = """<html lang=en><head><title>Guide | Site</title><meta name=author content=Ada>
<meta property='article:published_time' content='2026-01-02'></head><body>
<nav><a href=/>Home</a><a href=/b>More</a></nav><div class=sidebar><ul><li>Related one</li></ul></div>
<main><h1>Guide</h1><p>%s</p><h2>Install</h2><pre><code class="language-sh">make install</code></pre>
<table><tr><th>Name</th><th>Value</th></tr><tr><td>size</td><td>3</td></tr></table></main>
<footer>Copyright</footer></body></html>""" % ("Lighthouses need a keeper who paints them. " * 10)


def test_the_main_text_keeps_its_headings_tables_and_code_and_loses_the_rest() -> None:
    page = parse_page(ARTICLE, "https://e.test/guide")
    assert "## Install" in page.text
    assert "| size | 3 |" in page.text
    assert "make install" in page.text
    assert "Related one" not in page.text
    assert "Copyright" not in page.text
    assert page.author == "Ada"
    assert page.published == "2026-01-02"
    assert page.title == "Guide | Site"


def test_a_short_page_without_a_main_part_keeps_its_headings() -> None:
    page = parse_page("<body><nav>Menu</nav><h1>News</h1><p>Short.</p><h2>More</h2></body>", "https://e.test/")
    assert page.text == "# News\n\nShort.\n\n## More"
