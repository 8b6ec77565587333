"""Outermost middleware: request id, security headers, metrics and access log of each request; 500 where it fails."""

import logging
import secrets
from time import perf_counter
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.dependencies.app_state import STALE_SCOPE_KEY, CurrentAppState
from api.middleware.exception_handlers import METHODS, error_response
from api.policies.token_bucket import RATE_LIMIT_SCOPE_KEY, RateLimitDecision
from pipeline.runtime import correlation, log_format

log = logging.getLogger(__name__)

_REQUEST_ID_HEADER = "x-request-id"
_STALE_HEADER = "x-recollect-stale"
"""Says that the log did not answer, so that changes acknowledged by other processes may be missing."""
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


class RequestMiddleware:
    """Adds its headers to each response, those of rate limits too, and answers unexpected errors."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        """`https`: tell browsers to come by it only."""
        self._app = app
        self._security_headers = (*_BASE_HEADERS, _STRICT_TRANSPORT_SECURITY) if https else _BASE_HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        request_id = _request_id(scope)
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[_REQUEST_ID_HEADER] = request_id
                self._add_security_headers(message)
                decision: RateLimitDecision | None = scope.get(RATE_LIMIT_SCOPE_KEY)
                if decision is not None:
                    message["headers"].extend(decision.headers())
                if scope.get(STALE_SCOPE_KEY):
                    MutableHeaders(scope=message)[_STALE_HEADER] = "true"
            await send(message)

        with correlation.correlation_scope(correlation.Correlation(default=request_id)):
            try:
                await self._app(scope, receive, send_with_headers)
            except ClientDisconnect:
                log.debug("Client of request %s disconnected.", request_id)
            except Exception:  # process boundary: the caller gets a request id, the log the traceback
                log.exception("Request %s failed: %s %s", request_id, scope["method"], _route_template(scope))
                if not status:
                    answer = error_response(500, "Internal error", f"See the service's log for request {request_id}.")
                    await answer(scope, receive, send_with_headers)
            _record_request(scope, status, perf_counter() - began)

    def _add_security_headers(self, message: Message) -> None:
        """Add the headers that `http.response.start` does not set itself."""
        headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
        present = dict(headers)
        headers.extend(header for header in self._security_headers if header[0] not in present)
        if b"content-security-policy" not in present:
            page = present.get(b"content-type", b"").startswith(b"text/html")
            headers.append(_PAGE_CONTENT_SECURITY_POLICY if page else _API_CONTENT_SECURITY_POLICY)
        if b"cache-control" not in present:
            headers.append(_NO_STORE)
        message["headers"] = headers


def _record_request(scope: Scope, status: int, seconds: float) -> None:
    """Count and log a finished request; status 0: the client disconnected first."""
    method, route = scope["method"], _route_template(scope)
    serving: CurrentAppState | None = getattr(scope["app"].state, "recollect", None)
    if serving is not None:
        serving.state.metrics.observe_request(method if method in METHODS else "other", route, status, seconds)
    if log_format.ACCESS_LOGGER.isEnabledFor(logging.INFO):
        log_format.access_log("answered", method=method, route=route, status=status, seconds=round(seconds, 6))


def _route_template(scope: Scope) -> str:
    """Return the route's path template; actual paths would make one metric label per document."""
    return getattr(scope.get("route"), "path", "unknown")


def _request_id(scope: Scope) -> str:
    given: str = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), "")
    if 0 < len(given) <= 128 and all(char.isalnum() or char in "-_.:" for char in given) and given.isascii():
        return given
    return f"req_{secrets.token_hex(12)}"
