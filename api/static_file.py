"""Files that the service serves as they are, below a path: compressed once, with an ETag each."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from api.errors.http_errors import NotFoundError

_INDEX_FILE: Final = "index.html"
_CONTENT_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/plain; charset=utf-8",
    ".py": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
}
_MIN_COMPRESSED_BYTES: Final = 1024
"""Smaller files fit into one packet either way."""
_COMPRESSION_LEVEL: Final = 6
"""The largest file takes 32 ms, once; level 9 takes 50 for 0.4 % less."""


@dataclass(frozen=True)
class StaticFile:
    content: bytes
    content_type: str
    digest: str

    def respond(self, request: Request, headers: Mapping[str, str]) -> Response:
        """Return the file with these headers, compressed for browsers that take it, or 304 if the browser has it."""
        compressed = self._compressed if "gzip" in request.headers.get("accept-encoding", "") else None
        headers = {
            **headers,
            "ETag": f'"{self.digest}{"" if compressed is None else "-gzip"}"',
            "Vary": "Accept-Encoding",
        }
        if self.digest in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if compressed is None:
            return Response(self.content, media_type=self.content_type, headers=headers)
        return Response(compressed, media_type=self.content_type, headers={**headers, "Content-Encoding": "gzip"})

    @cached_property
    def _compressed(self) -> bytes | None:
        """The content as gzip, made when it is first asked for; None where it would save little."""
        if self.content_type == _CONTENT_TYPES[".png"] or len(self.content) < _MIN_COMPRESSED_BYTES:
            return None
        return gzip.compress(self.content, _COMPRESSION_LEVEL, mtime=0)


def page_headers(content_security_policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": content_security_policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        # Revalidated on every load: 304 unless an upgrade changed the file.
        "Cache-Control": "no-cache",
    }


def read_static_files(folder: Path) -> dict[str, StaticFile]:
    return {path.relative_to(folder).as_posix(): read_static_file(path) for path in folder.rglob("*.*")}


def read_static_file(path: Path) -> StaticFile:
    content = path.read_bytes()
    return StaticFile(content, _CONTENT_TYPES[path.suffix], sha256(content).hexdigest()[:32])


def static_routes(
    name: str, find: Callable[[str], StaticFile | None], headers: Mapping[str, str], what: str
) -> APIRouter:
    """Build the routes of /name and below, with the index of each folder. `what`: says whose files these are."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route(f"/{name}", methods=["GET", "HEAD"])
    async def redirect_to_index() -> Response:
        # Relative, so that it works behind a proxy with a path prefix.
        return RedirectResponse(f"{name}/", headers=headers)

    @routes.api_route(f"/{name}/{{path:path}}", methods=["GET", "HEAD"])
    async def file(request: Request, path: str) -> Response:
        is_folder = path.endswith("/") or not path
        found = await run_in_threadpool(find, f"{path}{_INDEX_FILE}" if is_folder else path)
        if found is not None:
            return found.respond(request, headers)
        if not is_folder and await run_in_threadpool(find, f"{path}/{_INDEX_FILE}") is not None:
            return RedirectResponse(f"{path.rpartition('/')[2]}/", headers=headers)
        raise NotFoundError("Not found", f"The {what} has no page {path[:200]!r}.")

    return routes
