"""Base of the doubles of Google's services: tokens, error responses, field masks."""

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from tests.support.providers.api_description import ApiDescription, DescriptionViolationError
from tests.support.providers.authorization_server import AuthorizationServerDouble
from tests.support.providers.provider_double import DoubleResponse, ProviderDouble, ReceivedRequest

FieldMask = dict[str, "FieldMask"]
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    409: "ABORTED",
    410: "FAILED_PRECONDITION",
    413: "INVALID_ARGUMENT",
    418: "UNKNOWN",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error_response(status: int, reason: str, message: str = "Refused.", **headers: str) -> DoubleResponse:
    """A failure as Google words it; `reason` tells a 403 for too many requests from one for ever."""
    error = {
        "code": status,
        "message": message,
        "status": STATUSES[status],
        "errors": [{"reason": reason, "message": message, "domain": "global"}],
    }
    return DoubleResponse(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})


class GoogleDouble(ProviderDouble):
    """A Google service with its token endpoint. Operations need a good token; masks are obeyed."""

    def __init__(self, name: str) -> None:
        super().__init__(ApiDescription(name, errors="Error"))
        self.accounts = AuthorizationServerDouble()

    def described_operation(self, method: str, path: str) -> Any:
        """None for what no discovery document describes."""
        return (
            None
            if path.startswith(("/token", "/o/oauth2", "/oauth2", "/revoke", "/outside"))
            else (self.description.operation(method, path))
        )

    def answer_undescribed(self, request: Request, body: bytes) -> DoubleResponse:
        """Authorization."""
        match request.url.path:
            case "/o/oauth2/v2/auth":
                return self.accounts.consent(request.url.query)
            case "/token":
                return self.accounts.token(body)
            case "/revoke":
                self.accounts.revoke()
                return DoubleResponse(200, {})
        raise DescriptionViolationError(f"{request.method} {request.url.path} is not described")

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        """The answer of the world, if the token is good, cut to what `fields` asks for."""
        if not self.accounts.accepts(call.headers.get("authorization")):
            return error_response(401, "authError", "Invalid Credentials")
        answer = self.answer(call)
        mask = call.query.get("fields")
        if answer.status != 200 or not isinstance(answer.body, dict) or mask is None:
            return answer
        schema = self.description.resolve(
            call.operation.described["responses"]["200"]["content"]["application/json"]["schema"]
        )
        return DoubleResponse(200, self._apply_mask(answer.body, parse_field_mask(mask), schema), answer.headers)

    def answer(self, call: ReceivedRequest) -> DoubleResponse:
        """The world's answer in full."""
        raise NotImplementedError

    def _apply_mask(self, value: Any, mask: FieldMask, schema: Any) -> Any:
        schema = self.description.resolve(schema)
        if not mask or "*" in mask:
            return value
        if isinstance(value, list):
            return [self._apply_mask(item, mask, schema["items"]) for item in value]
        unknown = mask.keys() - schema.get("properties", {}).keys()
        if unknown:
            raise DescriptionViolationError(f"The mask names fields that are not there: {sorted(unknown)}")
        return {
            name: self._apply_mask(value[name], inner, schema["properties"][name])
            for name, inner in mask.items()
            if name in value
        }


def parse_field_mask(text: str) -> FieldMask:
    """`a,b(c,d/e)` as nested dictionaries."""
    found, rest = _parse_mask_tokens(re.findall(r"[\w*]+|[(),/]", text))
    if rest:
        raise DescriptionViolationError(f"{text!r} is no mask of fields")
    return found


def _parse_mask_tokens(tokens: list[str]) -> tuple[FieldMask, list[str]]:
    found: FieldMask = {}
    while tokens:
        name, *tokens = tokens
        inner: FieldMask = {}
        place = found.setdefault(name, inner)
        while tokens[:1] == ["/"]:
            place = place.setdefault(tokens[1], {})
            tokens = tokens[2:]
        if tokens[:1] == ["("]:
            nested, tokens = _parse_mask_tokens(tokens[1:])
            place.update(nested)
            if tokens[:1] != [")"]:
                raise DescriptionViolationError("A mask of fields has a parenthesis too few")
            tokens = tokens[1:]
        if tokens[:1] != [","]:
            break
        tokens = tokens[1:]
    return found, tokens


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Remove absent members, as Google does."""
    return {name: value for name, value in values.items() if value is not None}
