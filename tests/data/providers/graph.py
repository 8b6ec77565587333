"""Makes onedrive.json: what the double needs of Microsoft Graph, as OpenAPI, from two packages (both MIT).

Bodies come from the TypeScript types, parameters from the URL templates of the Python SDK:

    npm install @microsoft/microsoft-graph-types@2.43.1 ts-json-schema-generator@2.4.0
    npx ts-json-schema-generator --type '*' --no-type-check --additional-properties -o graph.schema.json \
        --path node_modules/@microsoft/microsoft-graph-types/microsoft-graph.d.ts
    pip download --no-deps msgraph-sdk==1.65.0
    python tests/data/providers/graph.py graph.schema.json msgraph_sdk-1.65.0-py3-none-any.whl
"""

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

HERE = Path(__file__).parent
ROOTS = ["ChangeNotificationCollection", "Drive", "DriveItem", "Subscription", "User"]
# A driveItem leads to nearly every type of Graph. What a file is made of is kept; a property of any other
# type is left out, so that a double that sends one fails.
KEPT = {
    *ROOTS,
    *("ChangeNotification", "ChangeType", "LifecycleEventType", "ResourceData"),
    *("PublicError", "PublicErrorDetail", "PublicInnerError"),
    *("Audio", "Bundle", "Deleted", "File", "FileSystemInfo", "Folder", "FolderView", "GeoCoordinates"),
    *("Hashes", "Identity", "IdentitySet", "Image", "ItemReference", "Malware", "Package", "Photo"),
    *("PublicationFacet", "Quota", "RemoteItem", "Root", "Shared", "SharepointIds", "SpecialFolder", "Video"),
}
BUILDERS = {
    # operation: method, path as we ask for it, request builder of the SDK, answer, status
    "me": ("get", "/v1.0/me", "users/item/user_item", "User", 200),
    "drive": ("get", "/v1.0/me/drive", "users/item/drive/drive", "Drive", 200),
    "delta": ("get", "/v1.0/me/drive/root/delta", "drives/item/items/item/delta/delta", "Page", 200),
    "children": (
        "get",
        "/v1.0/me/drive/items/{item}/children",
        "drives/item/items/item/children/children",
        "Page",
        200,
    ),
    "search": (
        "get",
        "/v1.0/me/drive/root/search(q='{query}')",
        "drives/item/items/item/search_with_q/search_with_q",
        "Page",
        200,
    ),
    "content": (
        "get",
        "/v1.0/me/drive/items/{item}/content",
        "drives/item/items/item/content/content",
        None,
        302,
    ),
    "item": (
        "get",
        "/v1.0/me/drive/items/{item}",
        "drives/item/items/item/drive_item_item",
        "DriveItem",
        200,
    ),
    "driveChildren": (
        "get",
        "/v1.0/drives/{drive}/items/{item}/children",
        "drives/item/items/item/children/children",
        "Page",
        200,
    ),
    "driveContent": (
        "get",
        "/v1.0/drives/{drive}/items/{item}/content",
        "drives/item/items/item/content/content",
        None,
        302,
    ),
    "driveItem": (
        "get",
        "/v1.0/drives/{drive}/items/{item}",
        "drives/item/items/item/drive_item_item",
        "DriveItem",
        200,
    ),
    "sharedItem": (
        "get",
        "/v1.0/shares/{share}/driveItem",
        "shares/item/drive_item/drive_item",
        "DriveItem",
        200,
    ),
    "subscribe": ("post", "/v1.0/subscriptions", "subscriptions/subscriptions", "Subscription", 201),
    "renew": (
        "patch",
        "/v1.0/subscriptions/{subscription}",
        "subscriptions/item/subscription_item",
        "Subscription",
        200,
    ),
    "unsubscribe": (
        "delete",
        "/v1.0/subscriptions/{subscription}",
        "subscriptions/item/subscription_item",
        None,
        204,
    ),
}
_TEMPLATE = re.compile(r'\{\+baseurl\}(?:/[^{"]*(?:\{[^?}]+\}[^{"]*)*)(?:\{\?([^}]*)\})?')
LINKED = {
    "delta": ["token"],
    "children": ["$skiptoken"],
    "driveChildren": ["$skiptoken"],
    "search": ["$skiptoken"],
}
"""Query parameters that only Graph's links to the next page carry; callers never invent them."""
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"$ref": "#/components/schemas/PublicError"}},
    "additionalProperties": False,
}
"""The body of a failure: the type is published, its envelope is said in prose."""
PAGE = {
    "type": "object",
    "required": ["value"],
    "properties": {"value": {"type": "array", "items": {"$ref": "#/components/schemas/DriveItem"}}},
    "patternProperties": {r"^@(odata|microsoft\.graph)\.": {}},
    "additionalProperties": False,
}
"""A page of a collection, which OData describes once for all types."""


def main(schema: str, wheel: str) -> None:
    """Write the file beside this script."""
    types = json.loads(Path(schema).read_text())["definitions"]
    paths: dict[str, dict[str, Any]] = {}
    with ZipFile(wheel) as archive:
        for name, (method, path, builder, answer, status) in BUILDERS.items():
            source = archive.read(f"msgraph/generated/{builder}_request_builder.py").decode()
            paths.setdefault(path, {})[method] = _operation(name, method, source, answer, status)
    schemas = {name: _definition(types[name], types) for name in sorted(KEPT)}
    made = {
        "openapi": "3.1.0",
        "info": {
            "title": "Microsoft Graph",
            "version": "v1.0",
            "license": {"name": "MIT"},
            "description": "A part of @microsoft/microsoft-graph-types 2.43.1 and msgraph-sdk 1.65.0, "
            "made by graph.py.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": ERROR, "Page": PAGE} | schemas},
    }
    (HERE / "onedrive.json").write_text(json.dumps(made, indent=1) + "\n")


def _operation(name: str, method: str, source: str, answer: str | None, status: int) -> dict[str, Any]:
    found = _TEMPLATE.search(source)
    if found is None:
        raise SystemExit(f"{name}: a request builder without a URL template; has the SDK changed its form?")
    declared = [unquote(each) for each in (found[1] or "").replace("*", "").split(",") if each]
    declared += LINKED.get(name, [])
    operation: dict[str, Any] = {
        "operationId": name,
        "parameters": [
            {"name": each, "in": "query", "schema": {"type": "integer"} if each in {"$top", "$skip"} else {}}
            for each in declared
        ],
        "responses": {str(status): {"description": "The answer."} | _content(answer)},
    }
    if method in {"post", "patch"}:
        operation["requestBody"] = _content("Subscription")
    return operation


def _content(name: str | None) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"content": {"application/json": {"schema": schema}}} if name else {}


def _definition(described: dict[str, Any], types: dict[str, Any]) -> dict[str, Any]:
    if "enum" in described:
        return {"enum": described["enum"]}
    properties = {
        name: schema
        for name, value in described.get("properties", {}).items()
        if (schema := _schema(value, types)) is not None
    }
    return {
        "type": "object",
        "properties": properties,
        # Annotations of OData are said of any object, and are not members of its type.
        "patternProperties": {r"^@(odata|microsoft\.graph)\.": {}},
        "additionalProperties": False,
    }


def _schema(value: dict[str, Any], types: dict[str, Any]) -> dict[str, Any] | None:
    if "$ref" in value:
        name = unquote(value["$ref"].removeprefix("#/definitions/"))
        return {"$ref": f"#/components/schemas/{name}"} if name in KEPT else _resolved(name, types)
    if "anyOf" in value:
        options = [_schema(option, types) for option in value["anyOf"]]
        return None if None in options else {"anyOf": options}
    if value.get("type") == "array":
        items = _schema(value["items"], types)
        return None if items is None else {"type": "array", "items": items}
    return {key: value[key] for key in ("type", "enum", "const") if key in value}


def _resolved(name: str, types: dict[str, Any]) -> dict[str, Any] | None:
    """A name that the generator made up, such as `NullableOption<X>`, by what it stands for."""
    made_up = name.startswith(("NullableOption<", "interface-", "def-interface-"))
    return _schema(types[name], types) if made_up and "properties" not in types[name] else None


if __name__ == "__main__":
    main(*sys.argv[1:])
