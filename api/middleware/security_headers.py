"""Security headers of every response."""

from typing import Final

from starlette.types import Message

_BASE_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_API_CONTENT_SECURITY_POLICY: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_PAGE_CONTENT_SECURITY_POLICY: Final = (
    b"content-security-policy",
    b"object-src 'none'; base-uri 'self'; frame-ancestors 'none'",
)
"""Policy of an HTML page that sets none of its own."""
_NO_STORE: Final = (b"cache-control", b"no-store")
_STRICT_TRANSPORT_SECURITY: Final = (b"strict-transport-security", b"max-age=31536000")


class SecurityHeaders:
    """Default security headers. `https`: also Strict-Transport-Security."""

    def __init__(self, *, https: bool = False) -> None:
        self._always = (*_BASE_HEADERS, _STRICT_TRANSPORT_SECURITY) if https else _BASE_HEADERS

    def apply(self, message: Message) -> None:
        """Add the headers that `http.response.start` does not set itself."""
        headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
        present = dict(headers)
        headers.extend(header for header in self._always if header[0] not in present)
        if b"content-security-policy" not in present:
            page = present.get(b"content-type", b"").startswith(b"text/html")
            headers.append(_PAGE_CONTENT_SECURITY_POLICY if page else _API_CONTENT_SECURITY_POLICY)
        if b"cache-control" not in present:
            headers.append(_NO_STORE)
        message["headers"] = headers
