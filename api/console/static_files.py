"""Console at /console: the files of `assets`, read once. They hold no data; pages call the API."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from api.static_file import page_headers, read_static_files, static_routes

_CYTOSCAPE_STYLE_HASH: Final = "sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8="
"""Hash of the only rule that cytoscape.js adds to a page: the position of its container."""
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' '{_CYTOSCAPE_STYLE_HASH}'; img-src 'self' blob:;"
    " connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
RESPONSE_HEADERS: Final = page_headers(CONTENT_SECURITY_POLICY)
ASSETS_DIR: Final = Path(__file__).parent / "assets"


def router() -> APIRouter:
    """Build the routes of /console/, public because pages show nothing without a key; / redirects there."""
    routes = static_routes("console", read_static_files(ASSETS_DIR).get, RESPONSE_HEADERS, "console")

    @routes.api_route("/", methods=["GET", "HEAD"])
    async def redirect_to_console() -> Response:
        return RedirectResponse("console/", headers=RESPONSE_HEADERS)

    return routes
