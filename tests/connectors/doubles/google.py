"""What the doubles of Google's services share: tokens, failures as Google words them, masks of fields."""

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from tests.connectors.doubles.accounts import Accounts
from tests.connectors.doubles.double import Answer, Call, Double
from tests.connectors.doubles.judge import Judge, ViolationError

Mask = dict[str, "Mask"]
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    410: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def refused(status: int, reason: str, message: str = "Refused.", **headers: str) -> Answer:
    """A failure as Google words it; `reason` tells a 403 for too many requests from one for ever."""
    error = {
        "code": status,
        "message": message,
        "status": STATUSES[status],
        "errors": [{"reason": reason, "message": message, "domain": "global"}],
    }
    return Answer(
        status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()}
    )


class GoogleDouble(Double):
    """A Google service with its token endpoint. Operations need a good token; masks are obeyed."""

    def __init__(self, name: str) -> None:
        super().__init__(Judge(name, errors="Error"))
        self.accounts = Accounts()

    def locate(self, method: str, path: str) -> Any:
        """None for what no discovery document describes."""
        return (
            None
            if path.startswith(("/token", "/o/oauth2", "/oauth2", "/revoke", "/outside"))
            else (self.judge.operation(method, path))
        )

    def outside(self, request: Request, body: bytes) -> Answer:
        """Authorization."""
        match request.url.path:
            case "/o/oauth2/v2/auth":
                return self.accounts.consent(request.url.query)
            case "/token":
                return self.accounts.token(body)
            case "/revoke":
                self.accounts.revoke()
                return Answer(200, {})
        raise ViolationError(f"{request.method} {request.url.path} is not described")

    def handle(self, call: Call) -> Answer:
        """The answer of the world, if the token is good, cut to what `fields` asks for."""
        if not self.accounts.accepts(call.headers.get("authorization")):
            return refused(401, "authError", "Invalid Credentials")
        answer = self.answer(call)
        wanted = call.query.get("fields")
        if answer.status != 200 or not isinstance(answer.body, dict) or wanted is None:
            return answer
        schema = self.judge.resolve(
            call.operation.described["responses"]["200"]["content"]["application/json"]["schema"]
        )
        return Answer(200, self._cut(answer.body, mask(wanted), schema), answer.headers)

    def answer(self, call: Call) -> Answer:
        """The world's answer in full."""
        raise NotImplementedError

    def _cut(self, value: Any, wanted: Mask, schema: Any) -> Any:
        schema = self.judge.resolve(schema)
        if not wanted or "*" in wanted:
            return value
        if isinstance(value, list):
            return [self._cut(item, wanted, schema["items"]) for item in value]
        unknown = wanted.keys() - schema.get("properties", {}).keys()
        if unknown:
            raise ViolationError(f"The mask names fields that are not there: {sorted(unknown)}")
        return {
            name: self._cut(value[name], inner, schema["properties"][name])
            for name, inner in wanted.items()
            if name in value
        }


def mask(text: str) -> Mask:
    """`a,b(c,d/e)` as nested dictionaries."""
    found, rest = _mask(re.findall(r"[\w*]+|[(),/]", text))
    if rest:
        raise ViolationError(f"{text!r} is no mask of fields")
    return found


def _mask(tokens: list[str]) -> tuple[Mask, list[str]]:
    found: Mask = {}
    while tokens:
        name, *tokens = tokens
        inner: Mask = {}
        place = found.setdefault(name, inner)
        while tokens[:1] == ["/"]:
            place = place.setdefault(tokens[1], {})
            tokens = tokens[2:]
        if tokens[:1] == ["("]:
            nested, tokens = _mask(tokens[1:])
            place.update(nested)
            if tokens[:1] != [")"]:
                raise ViolationError("A mask of fields has a parenthesis too few")
            tokens = tokens[1:]
        if tokens[:1] != [","]:
            break
        tokens = tokens[1:]
    return found, tokens


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """What Google answers of an object: absent members are not sent."""
    return {name: value for name, value in values.items() if value is not None}
