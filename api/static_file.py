"""Files that the service serves as they are: read once, with an ETag each."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import Request
from starlette.responses import Response

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


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file in memory."""

    content: bytes
    content_type: str
    etag: str

    def respond(self, request: Request, headers: Mapping[str, str]) -> Response:
        """Return the file with these headers, or 304 if the browser has it."""
        headers = {**headers, "ETag": self.etag}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.content_type, headers=headers)


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
    """Read a file; its type follows from its suffix."""
    content = path.read_bytes()
    return StaticFile(content, _CONTENT_TYPES[path.suffix], f'"{sha256(content).hexdigest()[:32]}"')
