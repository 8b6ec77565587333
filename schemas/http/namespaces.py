"""Namespaces."""

from typing import Literal

from pydantic import model_validator

from schemas.base import Answer, Body
from schemas.http.pagination import Pagination
from schemas.http.parts import Count, DateTime, SupportingContext


class NamespaceSystem(Answer):
    """When the namespace came to be and when its settings last changed."""

    created_at: DateTime
    updated_at: DateTime


class ListedNamespace(Answer):
    """A namespace in a list, with its current documents and recallable memories."""

    id: str
    namespace: str
    document_count: Count
    memory_count: Count
    description: str | None
    system: NamespaceSystem


class NamespacesAnswer(Answer):
    """A page of the namespaces that the key may read, newest first."""

    namespaces: list[ListedNamespace]
    pagination: Pagination


class NamespaceDetails(Answer):
    """A namespace's settings."""

    namespace: str
    supporting_context: str | None
    system: NamespaceSystem


class NamespacePatch(Body):
    """A change of settings; null clears."""

    supporting_context: SupportingContext | None = None

    @classmethod
    def nullable(cls) -> frozenset[str]:
        """null clears the supporting context."""
        return frozenset({"supportingContext"})

    @model_validator(mode="after")
    def _changes_something(self) -> "NamespacePatch":
        if not self.model_fields_set:
            raise ValueError(
                "give supportingContext (a text, or null to clear it): there is nothing to change"
            )
        return self


class NamespaceDeleted(Answer):
    """The namespace is gone, with this many documents and memories."""

    status: Literal["deleted"]
    namespace: str
    deleted_documents_count: Count
    deleted_memories_count: Count


class NamespaceMoving(Answer):
    """The content is on its way to another namespace."""

    status: Literal["queued"]
    operation_id: str
    namespace: str
    move_to: str
