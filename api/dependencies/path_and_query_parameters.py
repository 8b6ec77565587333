"""Options in paths and queries, as the contract bounds them."""

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BeforeValidator

from schemas import limits
from schemas.http.field_types import REJECT_NUL


def _split_commas(value: object) -> object:
    """Repeated and comma-separated values alike: `include=a,b` and `include=a&include=b`."""
    if not isinstance(value, list):
        return value
    return [part for item in value for part in str(item).split(",") if part]


def _empty_list() -> list[Any]:
    # Of `list` itself pydantic parses the signature at every request, and leaves a class and 50 KB behind.
    return []


COMMA_SEPARATED = BeforeValidator(_split_commas)

DocumentPath = Annotated[str, Path(min_length=1, max_length=limits.MAX_DOCUMENT_ID_LENGTH), REJECT_NUL]
ResourcePath = Annotated[str, Path(min_length=1), REJECT_NUL]
PageNumber = Annotated[int, Query(ge=1, le=limits.MAX_SAFE_INTEGER)]
PageLimit = Annotated[int, Query(ge=1, le=limits.MAX_PAGE_SIZE)]
NameQuery = Annotated[str, Query(max_length=100)]
MoveTarget = Annotated[str, Query(max_length=limits.MAX_NAMESPACE_LENGTH, pattern=limits.NAMESPACE_PATTERN)]
DocumentIncludes = Annotated[list[Literal["chunks", "memories"]], COMMA_SEPARATED, Query(default_factory=_empty_list)]
MemoryIncludes = Annotated[list[Literal["related", "documents"]], COMMA_SEPARATED, Query(default_factory=_empty_list)]
ConnectorIncludes = Annotated[list[Literal["syncs", "picker"]], COMMA_SEPARATED, Query(default_factory=_empty_list)]
