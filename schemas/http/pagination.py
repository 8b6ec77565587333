"""Pages of lists."""

from typing import Annotated

from pydantic import Field

from schemas.base import Answer
from schemas.http.parts import Maybe, Quantity


class Pagination(Answer):
    """Pages count from one; `total_pages` of an empty list is 0."""

    current_page: Quantity
    limit: Maybe[Annotated[Quantity, Field(json_schema_extra={"maximum": 1100})]] = 10
    total_items: Quantity
    total_pages: Quantity


def pagination(page: int, limit: int, total: int) -> Pagination:
    """The page object of a list of `total` items."""
    return Pagination(current_page=page, limit=limit, total_items=total, total_pages=-(-total // limit))
