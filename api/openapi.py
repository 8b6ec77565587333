"""FastAPI's OpenAPI document, corrected to match what the service does."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def install_openapi(app: FastAPI) -> None:
    """Replace the application's OpenAPI document by the corrected one, built at the first request for it."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _build_document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _build_document(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
    components = schema.setdefault("components", {})
    components["securitySchemes"] = {"bearerAuth": {"type": "http", "scheme": "bearer"}}
    for unused in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(unused, None)
    schema["security"] = [{"bearerAuth": []}]
    for path, item in schema["paths"].items():
        for method in _METHODS & item.keys():
            # Validation errors are answered with 400; FastAPI documents its default 422.
            item[method]["responses"].pop("422", None)
            if path == "/feedback":
                item[method]["security"] = [{}, {"bearerAuth": []}]
    return schema
