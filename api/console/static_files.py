"""Console at /console: the files of `assets`, read once. They hold no data; pages call the API."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from api.errors.http_errors import NotFoundError

_CYTOSCAPE_STYLE_HASH: Final = "sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8="
"""Hash of the only rule that cytoscape.js adds to a page: the position of its container."""
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' '{_CYTOSCAPE_STYLE_HASH}'; img-src 'self' blob:;"
    " connect-src 'self'; worker-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types recollect-worker"
)
RESPONSE_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # Revalidated on every load: 304 unless an upgrade changed the file.
    "Cache-Control": "no-cache",
}
ASSETS_DIR: Final = Path(__file__).parent / "assets"
_INDEX_FILE: Final = "index.html"
_CONTENT_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class _StaticFile:
    content: bytes
    content_type: str
    etag: str


def router() -> APIRouter:
    """Build the routes of /console/, public because pages show nothing without a key; / redirects there."""
    files = {path.relative_to(ASSETS_DIR).as_posix(): _read(path) for path in ASSETS_DIR.rglob("*.*")}
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=["GET", "HEAD"])
    @routes.api_route("/console", methods=["GET", "HEAD"])
    async def redirect_to_console() -> Response:
        # Relative, so that it works behind a proxy with a path prefix.
        return RedirectResponse("console/", headers=RESPONSE_HEADERS)

    @routes.api_route("/console/{path:path}", methods=["GET", "HEAD"])
    async def file(request: Request, path: str) -> Response:
        asset = files.get(path or _INDEX_FILE)
        if asset is None:
            raise NotFoundError("Not found", f"The console has no file {path[:200]!r}.")
        headers = {**RESPONSE_HEADERS, "ETag": asset.etag}
        if asset.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.content_type, headers=headers)

    return routes


def _read(path: Path) -> _StaticFile:
    content = path.read_bytes()
    return _StaticFile(content, _CONTENT_TYPES[path.suffix], f'"{sha256(content).hexdigest()[:32]}"')
