"""Headers that tell browsers to be careful with what the service answers."""

from typing import Final

from starlette.types import Message

_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_DATA: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_PAGE: Final = (b"content-security-policy", b"object-src 'none'; base-uri 'self'; frame-ancestors 'none'")
"""A page that says nothing of its own; what it may load besides is for itself to say."""
_NOT_KEPT: Final = (b"cache-control", b"no-store")
_TRANSPORT: Final = (b"strict-transport-security", b"max-age=31536000")


class Hardening:
    """`https`: the service is reached over TLS, which browsers are to remember."""

    def __init__(self, *, https: bool = False) -> None:
        self._always = (*_ALWAYS, _TRANSPORT) if https else _ALWAYS

    def apply(self, message: Message) -> None:
        """Add to `http.response.start` what it does not say itself."""
        headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
        said = dict(headers)
        headers.extend(header for header in self._always if header[0] not in said)
        if b"content-security-policy" not in said:
            page = said.get(b"content-type", b"").startswith(b"text/html")
            headers.append(_PAGE if page else _DATA)
        if b"cache-control" not in said:
            headers.append(_NOT_KEPT)
        message["headers"] = headers
