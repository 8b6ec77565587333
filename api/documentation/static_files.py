"""Documentation at /docs: a site built from docs/ where there is one, and the API reference at /docs/api."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from api.errors.http_errors import NotFoundError
from api.static_file import StaticFile, page_headers, read_static_file, read_static_files

# Swagger UI writes descriptions as sanitised markup and the site its search results, so Trusted Types can't be
# required; the icons of both are data: URLs. The worker is that of the site's search.
RESPONSE_HEADERS: Final = page_headers(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " worker-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
ASSETS_DIR: Final = Path(__file__).parent / "assets"
_INDEX_FILE: Final = "index.html"


def router(site: Path | None) -> APIRouter:
    """Build the routes of /docs, public because pages show nothing of anybody without a key.

    `site`: folder of the built site, read at each request, as it is large and may be built anew; without it a page
    says how to build it.
    """
    assets = read_static_files(ASSETS_DIR)
    routes = APIRouter(include_in_schema=False)

    def find(path: str) -> StaticFile | None:
        if site is not None and not path.startswith("api/"):
            wanted = (site / path).resolve()
            if wanted.is_relative_to(site.resolve()) and wanted.is_file():
                return read_static_file(wanted)
        return assets.get(path)

    @routes.api_route("/docs", methods=["GET", "HEAD"])
    async def redirect_to_index() -> Response:
        # Relative, so that it works behind a proxy with a path prefix.
        return RedirectResponse("docs/", headers=RESPONSE_HEADERS)

    @routes.api_route("/docs/{path:path}", methods=["GET", "HEAD"])
    async def file(request: Request, path: str) -> Response:
        is_folder = path.endswith("/") or not path
        found = await run_in_threadpool(find, f"{path}{_INDEX_FILE}" if is_folder else path)
        if found is not None:
            return found.respond(request, RESPONSE_HEADERS)
        if not is_folder and await run_in_threadpool(find, f"{path}/{_INDEX_FILE}") is not None:
            return RedirectResponse(f"{path.rpartition('/')[2]}/", headers=RESPONSE_HEADERS)
        raise NotFoundError("Not found", f"The documentation has no page {path[:200]!r}.")

    return routes
