"""A web site that changes, answers conditional requests, and complains about crawlers that behave badly.

python -m tests.support.providers.web_site_double --port 0
"""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urljoin

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connectors.providers.web_crawler.robots_and_sitemaps import ROBOTS_AGENT
from tests.support.providers.provider_double import serve_double

KNOWN_HEADERS = frozenset(
    {
        *("host", "accept", "accept-encoding", "connection", "user-agent"),
        *("if-none-match", "if-modified-since"),
    }
)
SURROUNDINGS = (
    "<header><a href='/'>Home</a></header><nav><ul><li><a href='/'>Menu</a></li></ul></nav>{body}"
    "<footer>All rights reserved</footer>"
)


@dataclass
class SitePage:
    """Response at an address."""

    body: bytes
    media: str = "text/html; charset=utf-8"
    """Type of the body; "": the answer does not tell it."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    sends_etag: bool = True

    @property
    def etag(self) -> str:
        return f'"{sha256(self.body).hexdigest()[:12]}"'


class WebSiteDouble:
    """An ASGI application. `requests`: what was asked for; `violations`: what a good crawler does not."""

    def __init__(self, host: str = "site.test", *, scheme: str = "https") -> None:
        self.host = host
        self.address = f"{scheme}://{host}"
        self.pages: dict[str, SitePage] = {}
        self.requests: list[str] = []
        self.statuses: list[int] = []
        self.violations: list[str] = []
        self.forbidden: set[str] = set()
        self.failing: dict[str, list[SitePage]] = {}
        self.sitemap_hosts: set[str] = set()
        """Other hosts that answer with the pages of this one."""

    def page(self, path: str, text: str, *links: str, title: str | None = None, head: str = "") -> str:
        """A page with an article and links."""
        name = title or path.strip("/") or "Start"
        paragraphs = "".join(f"<p>{part}</p>" for part in text.split("\n"))
        listed = "".join(f"<li><a href='{link}'>{link}</a></li>" for link in links)
        body = f"<main><h1>{name}</h1>{paragraphs}<ul>{listed}</ul></main>"
        page = SURROUNDINGS.format(body=body)
        html = f"<html><head><title>{name}</title>{head}</head><body>{page}</body></html>"
        self.pages[path] = SitePage(html.encode())
        return f"{self.address}{path}"

    def robots(self, text: str, *forbidden: str) -> None:
        """robots.txt, and the paths that it keeps a crawler from."""
        self.pages["/robots.txt"] = SitePage(text.encode(), "text/plain")
        self.forbidden = set(forbidden)

    def sitemap(self, dated: Mapping[str, str]) -> None:
        """sitemap.xml: paths or addresses, and when each changed last ("": it does not tell)."""
        entries = "".join(
            f"<url><loc>{urljoin(self.address, path)}</loc>{f'<lastmod>{at}</lastmod>' if at else ''}</url>"
            for path, at in dated.items()
        )
        sitemap = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"
        self.pages["/sitemap.xml"] = SitePage(sitemap.encode(), "application/xml", sends_etag=False)

    def fail(self, path: str, *answers: SitePage) -> None:
        """Answer so instead, one after the other."""
        self.failing[path] = list(answers)

    def drain_requests(self) -> Counter[str]:
        """Requests since the last call."""
        found = Counter(self.requests)
        self.requests.clear()
        self.statuses.clear()
        return found

    def assert_no_violations(self) -> None:
        """Fail if a crawler did what it should not."""
        assert not self.violations, self.violations

    def answer(self, request: Request) -> Response:
        """A page, or that it has not changed."""
        query = f"?{request.url.query}" if request.url.query else ""
        path = f"{request.url.path}{query}"
        self.requests.append(path)
        self._check_request(request, path)
        waiting = self.failing.get(path)
        page = waiting.pop(0) if waiting else self.pages.get(path)
        if page is None:
            return Response("gone", 404)
        headers = dict(page.headers)
        if page.sends_etag and page.status == 200:
            headers["etag"] = page.etag
            if request.headers.get("if-none-match") == page.etag:
                return Response(b"", 304, headers)
        return Response(page.body, page.status, headers, page.media or None)

    def _check_request(self, request: Request, path: str) -> None:
        if request.headers["host"].partition(":")[0] not in {
            *(self.host, f"www.{self.host}", "127.0.0.1"),
            *self.sitemap_hosts,
        }:
            self.violations.append(f"{request.headers['host']} is another site")
        if unknown := set(request.headers.keys()) - KNOWN_HEADERS:
            self.violations.append(f"{path}: headers {sorted(unknown)}")
        if not request.headers.get("user-agent", "").startswith(f"{ROBOTS_AGENT}/"):
            self.violations.append(f"{path}: a crawler without its name")
        if any(path.startswith(prefix) for prefix in self.forbidden):
            self.violations.append(f"{path} is forbidden")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = self.answer(Request(scope, receive))
            self.statuses.append(response.status_code)
            await response(scope, receive, send)


def demo(site: WebSiteDouble) -> WebSiteDouble:
    """A small site to show."""
    site.page("/", "Everything about lighthouses.", "/paint", "/keepers", title="Lighthouses")
    site.page("/paint", "Lighthouses are painted every spring, white first and red afterwards.", "/keepers")
    site.page("/keepers", "A keeper lights the lamp at dusk and writes down every ship that passes.")
    return site


if __name__ == "__main__":
    serve_double(demo(WebSiteDouble("127.0.0.1")), sys.argv[1:])
