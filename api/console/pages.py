"""/console: the files of `assets`, read once. They hold no data: what is shown is asked of the interface."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from api.problems import NotFoundError

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'none'; base-uri 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # Asked for anew after an upgrade, and answered 304 otherwise.
    "Cache-Control": "no-cache",
}
ASSETS: Final = Path(__file__).parent / "assets"
_INDEX: Final = "index.html"
_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    kind: str
    tag: str


def router() -> APIRouter:
    """Shows the console at /console/, open to all: without a key it shows nothing. The root leads there."""
    files = {path.relative_to(ASSETS).as_posix(): _read(path) for path in ASSETS.rglob("*.*")}
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=["GET", "HEAD"])
    @routes.api_route("/console", methods=["GET", "HEAD"])
    async def door() -> Response:
        # Relative, so that it holds behind a proxy that serves us under a path of its own.
        return RedirectResponse("console/", headers=HEADERS)

    @routes.api_route("/console/{path:path}", methods=["GET", "HEAD"])
    async def file(request: Request, path: str) -> Response:
        found = files.get(path or _INDEX)
        if found is None:
            raise NotFoundError("Not found", f"The console has no file {path[:200]!r}.")
        headers = {**HEADERS, "ETag": found.tag}
        if found.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(found.content, media_type=found.kind, headers=headers)

    return routes


def _read(path: Path) -> _File:
    content = path.read_bytes()
    return _File(content, _KINDS[path.suffix], f'"{sha256(content).hexdigest()[:32]}"')
