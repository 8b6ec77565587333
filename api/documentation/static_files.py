"""API reference at /docs/api: the files of `assets`, read once. It shows /openapi.json."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from api.errors.http_errors import NotFoundError
from api.static_file import page_headers, read_static_files

# Swagger UI writes descriptions as sanitised markup, so Trusted Types can't be required; its icons are data: URLs.
RESPONSE_HEADERS: Final = page_headers(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
ASSETS_DIR: Final = Path(__file__).parent / "assets"
_INDEX_FILE: Final = "index.html"


def router() -> APIRouter:
    """Build the routes of /docs/, public because pages show nothing of anybody without a key."""
    files = read_static_files(ASSETS_DIR)
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/docs", methods=["GET", "HEAD"])
    async def redirect_to_reference() -> Response:
        # Relative, so that it works behind a proxy with a path prefix.
        return RedirectResponse("docs/api/", headers=RESPONSE_HEADERS)

    @routes.api_route("/docs/{path:path}", methods=["GET", "HEAD"])
    async def file(request: Request, path: str) -> Response:
        if path in ("", "api"):
            return RedirectResponse("api/", headers=RESPONSE_HEADERS)
        asset = files.get(f"{path}{_INDEX_FILE}" if path.endswith("/") else path)
        if asset is None:
            raise NotFoundError("Not found", f"The documentation has no page {path[:200]!r}.")
        return asset.respond(request, RESPONSE_HEADERS)

    return routes
