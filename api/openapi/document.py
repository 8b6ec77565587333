"""FastAPI's OpenAPI document, corrected to match what the service does, with an example of each request."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.openapi.examples import EXAMPLE_ADDRESS, add_example

_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete"})
_INTRODUCTION: Final = """A self-hosted memory service: send it text, files and URLs, ask it questions.

Every request carries an API key as a bearer token. The examples expect it in `$RECOLLECT_API_KEY`. Operations under
`/admin` and `/ns/{namespace}/explain` extend the v5 interface."""


def install_openapi(app: FastAPI, public_url: str | None = None) -> None:
    """Replace the application's OpenAPI document by the corrected one, built at the first request for it.

    `public_url`: the server that it names; absent: the one that the document is read from.
    """

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _build_document(app, public_url)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _build_document(app: FastAPI, public_url: str | None) -> dict[str, Any]:
    # "." is resolved against the document's own address, so that it holds below a path of a proxy.
    public_url = public_url.rstrip("/") if public_url else None
    schema = get_openapi(
        title=app.title,
        version=app.version,
        description=_INTRODUCTION,
        servers=[{"url": public_url or "."}],
        routes=app.routes,
    )
    components = schema.setdefault("components", {})
    components["securitySchemes"] = {
        "bearerAuth": {"type": "http", "scheme": "bearer", "description": "An API key: rk_…"}
    }
    for unused in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(unused, None)
    schema["security"] = [{"bearerAuth": []}]
    for path, item in schema["paths"].items():
        for method in _METHODS & item.keys():
            operation = item[method]
            # Validation errors are answered with 400; FastAPI documents its default 422.
            operation["responses"].pop("422", None)
            if path == "/feedback":
                operation["security"] = [{}, {"bearerAuth": []}]
            add_example(path, method, operation, public_url or EXAMPLE_ADDRESS)
    return schema
