"""A provider's published description as a judge of both sides: what we ask, and what its double answers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jsonschema_rs

DATA = Path(__file__).parents[2] / "data" / "providers"
TRANSPORT_HEADERS = frozenset(
    [
        "host",
        "user-agent",
        "accept",
        "accept-encoding",
        "connection",
        "authorization",
        "content-type",
        "content-length",
    ]
)
"""Headers of HTTP itself; every other has to be declared."""


class DescriptionViolationError(AssertionError):
    """A request or an answer that the description does not know."""


@dataclass(frozen=True)
class Operation:
    """Operation of the description, and the path's parameters of a request for it."""

    id: str
    template: str
    described: Mapping[str, Any]
    path: Mapping[str, str]


class ApiDescription:
    """The description in `tests/data/providers/<name>.json`.

    `headers`: those that the provider's prose declares for all calls. `errors`: the component that bodies of
    failures follow which no operation declares (401, 429, 5xx).
    """

    def __init__(self, name: str, *, headers: frozenset[str] = frozenset(), errors: str) -> None:
        self.document = _document(name)
        self._headers = TRANSPORT_HEADERS | headers
        self._errors = errors
        self._validators = _validators(name)
        self._samples: dict[str, dict[str, Any]] = {}

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """Paths as patterns: the longest first, for a last parameter may hold slashes; then literal ones."""
        ordered = sorted(self.document["paths"], key=lambda path: (-path.count("/"), path.count("{")))
        return [(_pattern(template), template) for template in ordered]

    def operation(self, method: str, path: str) -> Operation:
        """The operation that a request means. ViolationError where there is none."""
        for pattern, template in self._patterns:
            match, item = pattern.fullmatch(path), self.document["paths"][template]
            if match and method.lower() in item:
                described = item[method.lower()]
                return Operation(described["operationId"], template, described, match.groupdict())
        raise DescriptionViolationError(f"{method} {path} is not described")

    def request(
        self, operation: Operation, query: list[tuple[str, str]], headers: Mapping[str, str], body: Any
    ) -> None:
        """ViolationError for a parameter, header or member of the body that is not described, or is wrong."""
        declared = {
            (p["in"], p["name"].lower()): p for p in map(self.resolve, operation.described.get("parameters", []))
        }
        for name, value in query:
            parameter = declared.get(("query", name.lower()))
            if parameter is None:
                raise DescriptionViolationError(f"{operation.id}: parameter {name} is not described")
            self._check(
                f"{operation.id} ?{name}",
                parameter.get("schema", {}),
                _typed(value, self.resolve(parameter["schema"])),
            )
        for name in headers.keys() - self._headers:
            if ("header", name) not in declared:
                raise DescriptionViolationError(f"{operation.id}: header {name} is not described")
        missing = {n for (place, n), p in declared.items() if place == "query" and p.get("required")} - {
            n.lower() for n, _ in query
        }
        if missing:
            raise DescriptionViolationError(f"{operation.id}: parameters {missing} are missing")
        content = operation.described.get("requestBody", {}).get("content", {})
        if body is not None:
            if "application/json" not in content:
                raise DescriptionViolationError(f"{operation.id}: no body is described")
            schema = content["application/json"]["schema"]
            self._check(f"{operation.id} body", schema, body)
            unknown = body.keys() - self._members(schema)
            if unknown:
                raise DescriptionViolationError(f"{operation.id}: body members {unknown} are not described")

    def response(self, operation: Operation, status: int, media: str, body: Any) -> None:
        """ViolationError for an answer that is not described so."""
        described = operation.described["responses"].get(str(status))
        if described is None:
            if status < 400:
                raise DescriptionViolationError(f"{operation.id}: status {status} is not described")
            described = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{self._errors}"}}}}
        content = self.resolve(described).get("content", {})
        if content and body is not None:
            if media not in content:
                raise DescriptionViolationError(f"{operation.id}: {status} as {media}, described as {list(content)}")
            self._check(f"{operation.id} {status}", content[media].get("schema", {}), body)

    def webhook(self, event: str, body: Any) -> None:
        """ViolationError for the body of a delivery that is not described so."""
        described = self.document["webhooks"][event]
        if "post" in described:
            described = described["post"]["requestBody"]["content"]["application/json"]["schema"]
        self._check(f"webhook {event}", described, body)

    def component(self, name: str, body: Any) -> None:
        """ViolationError for an object that is not described so."""
        self._check(name, self.document["components"]["schemas"][name], body)

    def filled_example(self, component: str, **values: Any) -> dict[str, Any]:
        """An object of this component: what is known, and something fitting for the rest it must have."""
        if component not in self._samples:
            self._samples[component] = self._sample(self.document["components"]["schemas"][component])
        return _merged(self._samples[component], values)

    def resolve(self, node: Any) -> Any:
        """Resolve a reference."""
        while "$ref" in node:
            _, _, kind, name = node["$ref"].split("/", 3)
            node = self.document["components"][kind][name]
        return node

    def _members(self, schema: Any) -> set[str]:
        schema = self.resolve(schema)
        alternatives = [*schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])]
        return set(schema.get("properties", {})).union(*map(self._members, alternatives))

    def _check(self, what: str, schema: Any, value: Any) -> None:
        if what not in self._validators:
            full_schema = {**schema, "components": self.document["components"]}
            self._validators[what] = jsonschema_rs.Draft202012Validator(full_schema, validate_formats=True)
        for error in self._validators[what].iter_errors(value):
            where = "/".join(map(str, error.instance_path))
            raise DescriptionViolationError(f"{what}: {where}: {error.message[:400]}")

    def _sample(self, schema: Any) -> Any:
        schema = self.resolve(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        for several in ("oneOf", "anyOf"):
            if several in schema:
                return self._sample(schema[several][0])
        if "allOf" in schema:
            parts = [self._sample({"type": "object", **self.resolve(part)}) for part in schema["allOf"]]
            filled = [(key, value) for part in parts for key, value in part.items()]
            return dict(sorted(filled, key=lambda member: member[1] is not None))
        kind = schema.get("type")
        if isinstance(kind, list):
            return None if "null" in kind else self._sample({**schema, "type": kind[0]})
        if kind == "object":
            members = schema.get("properties", {})
            return {name: self._sample(members.get(name, {})) for name in schema.get("required", [])}
        return _value(kind, schema.get("format"))


@cache
def _document(name: str) -> dict[str, Any]:
    """Read once, for all doubles of all tests."""
    document: dict[str, Any] = _as_json_schema(json.loads((DATA / f"{name}.json").read_text("utf-8")))
    return document


@cache
def _validators(name: str) -> dict[str, jsonschema_rs.Validator]:
    """Made where they are first wanted, for all judges of this name."""
    del name
    return {}


def _value(kind: str | None, form: str | None) -> Any:
    text = {
        "uri": "https://example.test/",
        "date-time": "2026-01-01T00:00:00Z",
        "email": "nobody@example.test",
    }
    return {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}.get(
        kind or "", text.get(form or "", "")
    )


def _merged(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in values.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _pattern(template: str) -> re.Pattern[str]:
    *parts, end = re.split(r"\{(\w+)\}", template)
    pattern = ""
    for literal, name in zip(parts[::2], parts[1::2], strict=True):
        pattern += f"{re.escape(literal)}(?P<{name}>[^/]+)"
    if parts and not end:
        pattern = f"{pattern.removesuffix('[^/]+)')}.+)"
    return re.compile(pattern + re.escape(end))


def _typed(value: str, schema: Any) -> Any:
    """A parameter of the query as the type that its schema wants."""
    if schema.get("type") in ("integer", "number") and re.fullmatch(r"-?\d+", value):
        return int(value)
    if schema.get("type") == "boolean" and value in ("true", "false"):
        return value == "true"
    return value


def _as_json_schema(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` in the words of JSON Schema."""
    if isinstance(node, list):
        return [_as_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _as_json_schema(value) for key, value in node.items() if key != "nullable" or value is not True}
    if node.get("nullable") is not True:
        return plain
    if isinstance(plain.get("type"), str):
        plain["type"] = [plain["type"], "null"]
        if "enum" in plain:
            plain["enum"] = [*plain["enum"], None]
        return plain
    return {"anyOf": [plain, {"type": "null"}]}
