"""Nested values kept as JSON text: metadata, claim checks, relations."""

import json
from typing import TypeVar

from pydantic import BaseModel

from schemas.base import Metadata
from schemas.events import Relation

Model = TypeVar("Model", bound=BaseModel)


def metadata_of(text: str | None) -> Metadata:
    """Metadata from its JSON; empty or missing text is no metadata."""
    return dict(json.loads(text)) if text else {}


def model_json(model: BaseModel | None) -> str | None:
    """A model as JSON, None as None."""
    return None if model is None else model.model_dump_json(exclude_none=True)


def model_of(kind: type[Model], text: str | None) -> Model | None:
    """The model back."""
    return None if text is None else kind.model_validate_json(text)


def relations_of(text: str | None) -> tuple[Relation, ...]:
    """Relations from their JSON; empty or missing text is none."""
    return tuple(Relation.model_validate(one) for one in json.loads(text)) if text else ()


def mapping_json(mapping: dict[str, str]) -> str:
    """A mapping of strings as JSON."""
    return json.dumps(mapping)


def mapping_of(text: str | None) -> dict[str, str]:
    """The mapping back."""
    return dict(json.loads(text)) if text else {}
