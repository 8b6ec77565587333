"""Pages that need JavaScript: rendered by the browser that the operator names, through a proxy that guards it."""

import asyncio
import shutil
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address

import pytest

from connectors.client.guarded_proxy import GuardedProxy
from connectors.errors import ItemError
from connectors.providers.web_crawler.browser_rendering import ChromiumRenderer
from pipeline.parsing.url_fetcher import resolve_host
from schemas.public_addresses import Address, is_public
from tests.connectors.providers.web_crawler.conftest import WebCrawlerHarness
from tests.support.http_stub import StubResponse, StubServer, stub_server
from tests.support.providers.web_site_double import SitePage

pytestmark = pytest.mark.anyio
CHROMIUM = shutil.which("chromium")
SHELL = b"<title>App</title><body><div id=root></div><script src=a.js></script>"
HTML = {"content-type": "text/html"}


@dataclass
class FakeRenderer:
    """A browser that shows what it is told."""

    markup: str
    rendered: list[str] = field(default_factory=list)

    async def render(self, url: str) -> str:
        self.rendered.append(url)
        if not self.markup:
            raise ItemError("The browser did not finish the page.", code="needs_javascript", retryable=True)
        return self.markup


async def test_only_pages_without_text_are_rendered_and_each_time_anew(world: WebCrawlerHarness) -> None:
    world.renderer = FakeRenderer("<main><h1>App</h1><p>Built by a script.</p><a href=/b>b</a></main><script></script>")
    world.site.page("/", "Welcome.", "/app")
    world.site.pages["/app"] = SitePage(SHELL)
    world.site.page("/b", "A page that only a script leads to.")
    await world.sync()
    assert world.paths() == {"/", "/app", "/b"}
    assert world.renderer.rendered == [f"{world.start}app"]
    assert "Built by a script." in world.in_memory_sync.text(f"{world.start}app")
    world.renderer.markup = "<main><h1>App</h1><p>Built anew.</p></main>"
    await world.sync()
    assert "Built anew." in world.in_memory_sync.text(f"{world.start}app")


async def test_a_rendered_page_about_javascript_is_a_page(world: WebCrawlerHarness) -> None:
    world.renderer = FakeRenderer("<main><p>Here is how to enable JavaScript.</p></main><script></script>")
    world.site.page("/", "Welcome.", "/app")
    world.site.pages["/app"] = SitePage(SHELL)
    await world.sync()
    assert world.paths() == {"/", "/app"}


@pytest.mark.parametrize("markup", ["", "<div id=root></div><script></script>"])
async def test_a_page_that_the_browser_can_not_show_fails_alone(world: WebCrawlerHarness, markup: str) -> None:
    world.renderer = FakeRenderer(markup)
    world.site.page("/", "Welcome.", "/app")
    world.site.pages["/app"] = SitePage(SHELL)
    await world.sync()
    assert world.paths() == {"/"}
    assert world.in_memory_sync.failures[f"{world.start}app"].code == "needs_javascript"


async def test_a_browser_that_is_not_there_is_named() -> None:
    with pytest.raises(ItemError, match="RECOLLECT_CRAWLER_BROWSER can't be started"):
        await ChromiumRenderer(["/no/such/browser"]).render("https://site.test/")


async def test_a_browser_that_does_not_end_is_ended() -> None:
    renderer = ChromiumRenderer(["sh", "-c", "sleep 600"], timeout_seconds=0.2)
    with pytest.raises(ItemError, match="did not finish"):
        await renderer.render("https://site.test/")


async def _request_through(proxy: str, request: bytes) -> bytes:
    host, port = proxy.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/"])
async def test_the_proxy_reaches_no_private_address(target: str) -> None:
    async with stub_server({"/": StubResponse(b"secret")}) as inside:
        port = inside.url.rpartition(":")[2]
        async with GuardedProxy(resolve_host, is_public, 10_000).listen() as proxy:
            request = f"GET {target.format(port=port)} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
            tunnel = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode()
            for sent in (request, tunnel, b"nonsense\r\n\r\n", b"CONNECT a:99999 HTTP/1.1\r\n\r\n"):
                assert (await _request_through(proxy, sent)).startswith(b"HTTP/1.1 403 ")
        assert inside.requests == []


async def test_the_proxy_forwards_to_the_address_that_it_checked_up_to_its_limit() -> None:
    async def resolve(host: str, port: int) -> list[Address]:
        assert host == "site.test"
        return [ip_address("127.0.0.1")]

    responses = {"/a?b=1": StubResponse(b"page"), "/large": StubResponse(b"0" * 1_000_000)}
    async with stub_server(responses) as site:
        origin = f"http://site.test:{site.url.rpartition(':')[2]}"
        async with GuardedProxy(resolve, lambda _: True, 100_000).listen() as proxy:
            get = "GET {0}{1} HTTP/1.1\r\nHost: site.test\r\nProxy-Connection: keep-alive\r\n\r\n".format
            assert (await _request_through(proxy, get(origin, "/a?b=1").encode())).endswith(b"page")
            assert len(await _request_through(proxy, get(origin, "/large").encode())) < 300_000
        headers = site.requests[0][1]
        assert headers["connection"] == "close"
        assert "proxy-connection" not in headers


def _allows_site_only(site: StubServer, address: Address) -> bool:
    return str(address) == site.host


@pytest.mark.skipif(
    CHROMIUM is None, reason="needs a peer that is not installed: Chromium (`make browser` installs it)"
)
async def test_chromium_renders_a_page_and_reaches_nothing_private() -> None:
    async with stub_server({"/": StubResponse(b"secret", headers={"access-control-allow-origin": "*"})}) as inside:
        script = (
            f"fetch('{inside.url}/').then(r => r.text()).catch(() => 'nothing').then(text => {{"
            "document.getElementById('root').innerHTML = '<p>Built by a script, got ' + text + '</p>'})"
        )
        page = f"<title>App</title><div id=root></div><script>{script}</script>"
        async with stub_server({"/": StubResponse(page.encode(), headers=HTML)}, host="127.0.0.2") as site:
            renderer = ChromiumRenderer([str(CHROMIUM), "--no-sandbox"], partial(_allows_site_only, site))
            assert "Built by a script, got nothing" in await renderer.render(f"{site.url}/")
        assert inside.requests == []
