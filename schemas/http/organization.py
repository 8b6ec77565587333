"""The organization."""

from typing import Annotated

from pydantic import Field

from schemas.base import Answer, Body
from schemas.http.parts import Count, Text


class OrganizationPatch(Body):
    """What guides memory everywhere; null clears."""

    organizational_context: Annotated[Text, Field(min_length=1)] | None

    @classmethod
    def nullable(cls) -> frozenset[str]:
        """null clears the organizational context."""
        return frozenset({"organizationalContext"})


class OrganizationAnswer(Answer):
    """`namespace_count` is the number of namespaces that the key may read."""

    organizational_context: str | None
    namespace_count: Count
