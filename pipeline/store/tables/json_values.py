"""Nested values stored as JSON text: metadata, claim checks, provenance."""

import json
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter

from pipeline.rows import ProvenanceEntry, RecentSubmissions
from schemas.base import Metadata

_RECENT_ADAPTER = TypeAdapter(RecentSubmissions)
_PROVENANCE_ADAPTER = TypeAdapter(tuple[ProvenanceEntry, ...])
Model = TypeVar("Model", bound=BaseModel)


def parse_metadata(text: str | None) -> Metadata:
    """Parse metadata; empty or missing text is no metadata."""
    return dict(json.loads(text)) if text else {}


def model_json(model: BaseModel | None) -> str | None:
    """Dump a model as JSON, None as None."""
    return None if model is None else model.model_dump_json(exclude_none=True)


def parse_model(model_type: type[Model], text: str | None) -> Model | None:
    """Parse a model, None as None."""
    return None if text is None else model_type.model_validate_json(text)


def recent_submissions_json(recent: RecentSubmissions) -> str | None:
    """Dump recent submissions as JSON; None if there are none."""
    if recent == RecentSubmissions():
        return None
    return _RECENT_ADAPTER.dump_json(recent, exclude_defaults=True).decode()


def parse_recent_submissions(text: str | None) -> RecentSubmissions:
    """Parse recent submissions; missing text is none."""
    return _RECENT_ADAPTER.validate_json(text) if text else RecentSubmissions()


def provenance_json(provenance: Sequence[ProvenanceEntry]) -> str | None:
    """Dump provenance as JSON; None if empty."""
    return _PROVENANCE_ADAPTER.dump_json(tuple(provenance), exclude_defaults=True).decode() if provenance else None


def parse_provenance(text: str | None) -> tuple[ProvenanceEntry, ...]:
    """Parse provenance; missing text is no provenance."""
    return _PROVENANCE_ADAPTER.validate_json(text) if text else ()
