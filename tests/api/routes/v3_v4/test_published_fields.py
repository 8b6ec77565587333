"""Every field that the structure of v3 and v4, or a client of theirs, names is read, or is known not to be."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from fastapi.routing import APIRoute

from api.routes.v3_v4 import (
    connection_routes,
    container_tag_routes,
    document_routes,
    memory_routes,
    search_routes,
    settings_routes,
)
from schemas.http.v3_v4.document_bodies import FileFields

PUBLISHED: dict[str, list[str]] = json.loads((Path(__file__).parents[3] / "data" / "v3v4-requests.json").read_text())
MODULES = (
    connection_routes,
    container_tag_routes,
    document_routes,
    memory_routes,
    search_routes,
    settings_routes,
)
REFUSED = {
    "POST /v3/settings/reset",
    "GET /v3/connections/{connectionId}/resources",
    "POST /v3/connections/{connectionId}/configure",
}
"""Operations that answer 501 whatever they are sent."""
WITHOUT_EFFECT = {
    "POST /v3/documents/batch": {"content"},  # may only be null
    "POST /v3/documents/file": {"useAdvancedProcessing"},  # every file is read as well as this service can
    "GET /v3/documents/processing": {"limit", "page"},  # of view=all, which is refused
}


def _shape(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


def _fields_of(model: Any) -> set[str]:
    """Names of the fields of a body's model; of a union with None, those of its member."""
    members = get_args(model) or (model,)
    return {field.alias or name for member in members for name, field in getattr(member, "model_fields", {}).items()}


ROUTES = {
    f"{method} {_shape(route.path)}": route
    for module in MODULES
    for route in module.router.routes
    if isinstance(route, APIRoute)
    for method in route.methods or ()
}


@pytest.mark.parametrize("operation", [name for name in PUBLISHED if name not in REFUSED])
def test_every_published_field_is_read(operation: str) -> None:
    route = ROUTES[_shape(operation)]
    bodies = [parameter.field_info.annotation for parameter in route.dependant.body_params]
    read = {parameter.alias for parameter in route.dependant.query_params}.union(*map(_fields_of, bodies))
    if operation == "POST /v3/documents/file":
        read |= _fields_of(FileFields) | document_routes._FORM_FIELDS.keys()
    if operation == "PATCH /v3/settings":
        return  # the body keeps all fields, and those without a setting are refused by name
    assert set(PUBLISHED[operation]) - read == WITHOUT_EFFECT.get(operation, set())
