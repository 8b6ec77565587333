"""Bodies of growth reports (extension of the contract)."""

from schemas.base import ResponseBody
from schemas.http.field_types import Count


class NamespaceGrowth(ResponseBody):
    """Items added per day that still exist; memories count on the day of their extraction."""

    namespace: str
    documents: list[Count]
    memories: list[Count]


class GrowthResponse(ResponseBody):
    """Growth per day; `days`: UTC dates, oldest first, ending today; each list has one number per day."""

    days: list[str]
    namespaces: list[NamespaceGrowth]
