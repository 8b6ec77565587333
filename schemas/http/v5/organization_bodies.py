"""Bodies of the organization."""

from typing import Annotated

from pydantic import Field

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import Count, Text


class OrganizationPatch(RequestBody):
    """Organizational context; null clears it."""

    organizational_context: Annotated[Text, Field(min_length=1)] | None

    @classmethod
    def nullable_fields(cls) -> frozenset[str]:
        """Return the field that null clears."""
        return frozenset({"organizationalContext"})


class OrganizationResponse(ResponseBody):
    """`namespace_count` is the number of namespaces that the key may read."""

    organizational_context: str | None
    namespace_count: Count
