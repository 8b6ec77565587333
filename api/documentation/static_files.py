"""Documentation at /docs: a site built from docs/ where there is one, and the API reference at /docs/api."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter

from api.static_file import StaticFile, page_headers, read_static_file, read_static_files, static_routes

# Swagger UI writes descriptions as sanitised markup and the site its search results, so Trusted Types can't be
# required; the icons of both are data: URLs. The worker is that of the site's search.
RESPONSE_HEADERS: Final = page_headers(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " worker-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
ASSETS_DIR: Final = Path(__file__).parent / "assets"


def router(site: Path | None) -> APIRouter:
    """Build the routes of /docs, public because pages show nothing of anybody without a key.

    `site`: folder of the built site, read at each request, as it is large and may be built anew; without it a page
    says how to build it.
    """
    assets = read_static_files(ASSETS_DIR)

    def find(path: str) -> StaticFile | None:
        if site is not None and not path.startswith("api/") and (wanted := _find_file(site, path)) is not None:
            return read_static_file(wanted)
        return assets.get(path)

    return static_routes("docs", find, RESPONSE_HEADERS, "documentation")


def _find_file(folder: Path, path: str) -> Path | None:
    """Return the file at a path below a folder; None if there is none, or can't be one."""
    try:
        wanted = (folder / path).resolve()
        return wanted if wanted.is_relative_to(folder.resolve()) and wanted.is_file() else None
    except (OSError, ValueError):
        return None  # too long for a name, or with a NUL
