"""Options in paths and queries, as the contract bounds them."""

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BeforeValidator

from schemas.http.parts import NO_NUL
from schemas.limits import DOCUMENT_ID_LENGTH, NAMESPACE_LENGTH, NAMESPACE_PATTERN, PAGE_LIMIT, PAGE_MAXIMUM


def _split(value: object) -> object:
    """Repeated and comma-separated values alike: `include=a,b` and `include=a&include=b`."""
    if not isinstance(value, list):
        return value
    return [part for item in value for part in str(item).split(",") if part]


def _none() -> list[Any]:
    # Of `list` itself pydantic parses the signature at every request, and leaves a class and 50 KB behind.
    return []


COMMAS = BeforeValidator(_split)

DocumentPath = Annotated[str, Path(min_length=1, max_length=DOCUMENT_ID_LENGTH), NO_NUL]
ResourcePath = Annotated[str, Path(min_length=1), NO_NUL]
PageNumber = Annotated[int, Query(ge=1, le=PAGE_MAXIMUM)]
PageLimit = Annotated[int, Query(ge=1, le=PAGE_LIMIT)]
NameQuery = Annotated[str, Query(max_length=100)]
MoveTo = Annotated[str, Query(max_length=NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]
DocumentParts = Annotated[list[Literal["chunks", "memories"]], COMMAS, Query(default_factory=_none)]
MemoryParts = Annotated[list[Literal["related", "documents"]], COMMAS, Query(default_factory=_none)]
ConnectorParts = Annotated[list[Literal["syncs", "picker"]], COMMAS, Query(default_factory=_none)]
