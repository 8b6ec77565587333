"""Pagination of lists."""

from typing import Annotated

from pydantic import Field

from schemas.base import ResponseBody
from schemas.http.field_types import NumberTypedInt, Omittable


class Pagination(ResponseBody):
    """Page of a list. Pages count from one; `total_pages` of an empty list is 0."""

    current_page: NumberTypedInt
    limit: Omittable[Annotated[NumberTypedInt, Field(json_schema_extra={"maximum": 1100})]] = 10
    total_items: NumberTypedInt
    total_pages: NumberTypedInt


def paginate(page: int, limit: int, total: int) -> Pagination:
    """Build the page object of a list of `total` items."""
    return Pagination(current_page=page, limit=limit, total_items=total, total_pages=-(-total // limit))
