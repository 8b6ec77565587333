"""Nested values kept as JSON text: metadata, claim checks, statements."""

import json
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter

from pipeline.rows import Statement
from schemas.base import Metadata

_STATEMENTS = TypeAdapter(tuple[Statement, ...])
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


def statements_json(statements: Sequence[Statement]) -> str | None:
    """Statements as JSON; None for none."""
    return _STATEMENTS.dump_json(tuple(statements), exclude_defaults=True).decode() if statements else None


def statements_of(text: str | None) -> tuple[Statement, ...]:
    """The statements back; of a row of before there were any, none."""
    return _STATEMENTS.validate_json(text) if text else ()


def mapping_json(mapping: dict[str, str]) -> str:
    """A mapping of strings as JSON."""
    return json.dumps(mapping)


def mapping_of(text: str | None) -> dict[str, str]:
    """The mapping back."""
    return dict(json.loads(text)) if text else {}
