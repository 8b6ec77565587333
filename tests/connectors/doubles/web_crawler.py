"""A web site that changes, answers conditional requests, and complains about crawlers that behave badly.

python -m tests.connectors.doubles.web_crawler --port 0
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

from connectors.providers.crawl_site import AGENT
from tests.connectors.doubles.double import run

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
class PageThere:
    """What is at an address."""

    body: bytes
    media: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    tagged: bool = True

    @property
    def tag(self) -> str:
        return f'"{sha256(self.body).hexdigest()[:12]}"'


class Site:
    """An ASGI application. `requests`: what was asked for; `violations`: what a good crawler does not."""

    def __init__(self, host: str = "site.test", *, scheme: str = "https") -> None:
        self.host = host
        self.address = f"{scheme}://{host}"
        self.pages: dict[str, PageThere] = {}
        self.requests: list[str] = []
        self.statuses: list[int] = []
        self.violations: list[str] = []
        self.forbidden: set[str] = set()
        self.failing: dict[str, list[PageThere]] = {}

    def page(self, path: str, text: str, *links: str, title: str | None = None, head: str = "") -> str:
        """A page with an article and links."""
        name = title or path.strip("/") or "Start"
        told = "".join(f"<p>{part}</p>" for part in text.split("\n"))
        listed = "".join(f"<li><a href='{link}'>{link}</a></li>" for link in links)
        body = f"<main><h1>{name}</h1>{told}<ul>{listed}</ul></main>"
        whole = SURROUNDINGS.format(body=body)
        html = f"<html><head><title>{name}</title>{head}</head><body>{whole}</body></html>"
        self.pages[path] = PageThere(html.encode())
        return f"{self.address}{path}"

    def robots(self, text: str, *forbidden: str) -> None:
        """robots.txt, and the paths that it keeps a crawler from."""
        self.pages["/robots.txt"] = PageThere(text.encode(), "text/plain")
        self.forbidden = set(forbidden)

    def sitemap(self, dated: Mapping[str, str]) -> None:
        """sitemap.xml: paths or addresses, and when each changed last ("": it does not tell)."""
        entries = "".join(
            f"<url><loc>{urljoin(self.address, path)}</loc>{f'<lastmod>{at}</lastmod>' if at else ''}</url>"
            for path, at in dated.items()
        )
        whole = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"
        self.pages["/sitemap.xml"] = PageThere(whole.encode(), "application/xml", tagged=False)

    def fail(self, path: str, *answers: PageThere) -> None:
        """Answer so instead, one after the other."""
        self.failing[path] = list(answers)

    def counted(self) -> Counter[str]:
        """What was asked for since the last time."""
        found = Counter(self.requests)
        self.requests.clear()
        self.statuses.clear()
        return found

    def settle(self) -> None:
        """Fail if a crawler did what it should not."""
        assert not self.violations, self.violations

    def answer(self, request: Request) -> Response:
        """A page, or that it has not changed."""
        query = f"?{request.url.query}" if request.url.query else ""
        path = f"{request.url.path}{query}"
        self.requests.append(path)
        self._judge(request, path)
        waiting = self.failing.get(path)
        there = waiting.pop(0) if waiting else self.pages.get(path)
        if there is None:
            return Response("gone", 404)
        headers = dict(there.headers)
        if there.tagged and there.status == 200:
            headers["etag"] = there.tag
            if request.headers.get("if-none-match") == there.tag:
                return Response(b"", 304, headers)
        return Response(there.body, there.status, headers, there.media)

    def _judge(self, request: Request, path: str) -> None:
        if request.headers["host"].partition(":")[0] not in {self.host, f"www.{self.host}", "127.0.0.1"}:
            self.violations.append(f"{request.headers['host']} is another site")
        if unknown := set(request.headers.keys()) - KNOWN_HEADERS:
            self.violations.append(f"{path}: headers {sorted(unknown)}")
        if not request.headers.get("user-agent", "").startswith(f"{AGENT}/"):
            self.violations.append(f"{path}: a crawler without its name")
        if any(path.startswith(prefix) for prefix in self.forbidden):
            self.violations.append(f"{path} is forbidden")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = self.answer(Request(scope, receive))
            self.statuses.append(response.status_code)
            await response(scope, receive, send)


def demo(site: Site) -> Site:
    """A small site to show."""
    site.page("/", "Everything about lighthouses.", "/paint", "/keepers", title="Lighthouses")
    site.page("/paint", "Lighthouses are painted every spring, white first and red afterwards.", "/keepers")
    site.page("/keepers", "A keeper lights the lamp at dusk and writes down every ship that passes.")
    return site


if __name__ == "__main__":
    run(demo(Site("127.0.0.1")), sys.argv[1:])
