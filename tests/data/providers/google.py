"""Makes google-drive.json and gmail.json: what the doubles need of Google's discovery documents, as OpenAPI.

The documents come with the wheel of google-api-python-client (Apache-2.0), which nothing here depends on:

    pip download --no-deps google-api-python-client==2.202.0
    python tests/data/providers/google.py google_api_python_client-2.202.0-py3-none-any.whl
"""

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

HERE = Path(__file__).parent
DOCUMENTS = "googleapiclient/discovery_cache/documents"
DRIVE = """
    about.get changes.getStartPageToken changes.list changes.watch channels.stop drives.list files.download
    files.export files.get files.list operations.get
"""
GMAIL = """
    users.getProfile users.history.list users.labels.list users.messages.attachments.get users.stop
    users.threads.get users.threads.list users.watch
"""
WANTED = {"google-drive.json": ("drive.v3.json", DRIVE), "gmail.json": ("gmail.v1.json", GMAIL)}
KEPT = ("type", "enum", "pattern")
"""Words of JSON Schema that a discovery document uses as they are; the rest is prose."""
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "integer"},
                "message": {"type": "string"},
                "status": {"type": "string"},
                "errors": {"type": "array", "items": {"type": "object", "required": ["reason"]}},
                "details": {"type": "array", "items": {"type": "object"}},
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
"""The body of a failure, which Google describes in prose only."""


def main(wheel: str) -> None:
    """Write both files beside this script."""
    with ZipFile(wheel) as archive:
        for target, (name, methods) in WANTED.items():
            document = json.loads(archive.read(f"{DOCUMENTS}/{name}"))
            (HERE / target).write_text(json.dumps(subset(document, methods.split(), name), indent=1) + "\n")


def subset(document: dict[str, Any], methods: list[str], name: str) -> dict[str, Any]:
    """The methods asked for and every schema that they reach."""
    paths: dict[str, dict[str, Any]] = {}
    for method in methods:
        described = _described(document, method)
        path = f"/{document['servicePath']}{described['path']}"
        paths.setdefault(path, {})[described["httpMethod"].lower()] = _operation(document, method, described)
    schemas: dict[str, Any] = {}
    waiting = _references(paths)
    while waiting:
        schema = waiting.pop()
        if schema not in schemas:
            schemas[schema] = _schema(document["schemas"][schema])
            waiting += _references(schemas[schema])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": document["title"],
            "version": document["revision"],
            "license": {"name": "Apache-2.0"},
            "description": f"A part of {name} in google-api-python-client 2.202.0, made by google.py.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": ERROR} | dict(sorted(schemas.items()))},
    }


def _described(document: dict[str, Any], path: str) -> dict[str, Any]:
    *folders, last = path.split(".")
    for folder in folders:
        document = document["resources"][folder]
    found: dict[str, Any] = document["methods"][last]
    return found


def _operation(document: dict[str, Any], method: str, described: dict[str, Any]) -> dict[str, Any]:
    parameters = document["parameters"] | described.get("parameters", {})
    operation: dict[str, Any] = {
        "operationId": method,
        "parameters": [_parameter(name, parameter) for name, parameter in parameters.items()],
        "responses": {"200": {"description": "The answer."} | _content(described.get("response"))},
    }
    if "request" in described:
        operation["requestBody"] = _content(described["request"])
    if "response" not in described and method != "files.export":
        operation["responses"] = {"204": {"description": "Done."}}
    return operation


def _content(reference: dict[str, str] | None) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": _schema(reference)}}} if reference else {}


def _parameter(name: str, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "in": described["location"],
        "required": described.get("required", False),
        "schema": _schema(described),
    }


def _schema(described: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in described:
        return {"$ref": f"#/components/schemas/{described['$ref']}"}
    schema = {key: described[key] for key in KEPT if key in described}
    if schema.get("type") == "any":
        del schema["type"]
    if described["type"] == "integer":
        schema |= {bound: int(described[bound]) for bound in ("minimum", "maximum") if bound in described}
    if "properties" in described:
        schema["properties"] = {key: _schema(value) for key, value in described["properties"].items()}
        schema["additionalProperties"] = False
    elif "additionalProperties" in described:
        schema["additionalProperties"] = _schema(described["additionalProperties"])
    if "items" in described:
        schema["items"] = _schema(described["items"])
    return schema


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [found for value in node for found in _references(value)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"].rpartition("/")[2]] if isinstance(node.get("$ref"), str) else []
    return own + [found for value in node.values() for found in _references(value)]


if __name__ == "__main__":
    main(sys.argv[1])
