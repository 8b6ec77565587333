"""FastAPI's OpenAPI document, made to say exactly what the service does."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def install(app: FastAPI) -> None:
    """Replace the application's own document by the corrected one; it is made once, when first asked for."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, routes=app.routes)
    components = made.setdefault("components", {})
    components["securitySchemes"] = {"bearerAuth": {"type": "http", "scheme": "bearer"}}
    for unused in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(unused, None)
    made["security"] = [{"bearerAuth": []}]
    for path, item in made["paths"].items():
        for method in _METHODS & item.keys():
            # Validation problems are answered 400; FastAPI documents its own 422.
            item[method]["responses"].pop("422", None)
            if path == "/feedback":
                item[method]["security"] = [{}, {"bearerAuth": []}]
    return made
