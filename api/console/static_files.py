"""Console at /console: the files of `assets`, read once. They hold no data; pages call the API."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from api.errors.http_errors import NotFoundError
from api.static_file import page_headers, read_static_files

_CYTOSCAPE_STYLE_HASH: Final = "sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8="
"""Hash of the only rule that cytoscape.js adds to a page: the position of its container."""
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' '{_CYTOSCAPE_STYLE_HASH}'; img-src 'self' blob:;"
    " connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
RESPONSE_HEADERS: Final = page_headers(CONTENT_SECURITY_POLICY)
ASSETS_DIR: Final = Path(__file__).parent / "assets"
_INDEX_FILE: Final = "index.html"


def router() -> APIRouter:
    """Build the routes of /console/, public because pages show nothing without a key; / redirects there."""
    files = read_static_files(ASSETS_DIR)
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
        return asset.respond(request, RESPONSE_HEADERS)

    return routes
