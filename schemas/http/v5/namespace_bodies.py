"""Bodies of namespaces and of the organization."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import PatchBody, ResponseBody
from schemas.http.field_types import Count, DateTime, SupportingContext, Text
from schemas.http.pagination import Pagination


class NamespaceSystem(ResponseBody):
    """Times of a namespace's creation and last change of settings."""

    created_at: DateTime
    updated_at: DateTime


class ListedNamespace(ResponseBody):
    """A namespace in a list, with its current documents and recallable memories."""

    id: str
    namespace: str
    document_count: Count
    memory_count: Count
    description: str | None
    system: NamespaceSystem


class NamespacesResponse(ResponseBody):
    """A page of the namespaces that the key may read, newest first."""

    namespaces: list[ListedNamespace]
    pagination: Pagination


class NamespaceDetails(ResponseBody):
    """A namespace's settings."""

    namespace: str
    supporting_context: str | None
    system: NamespaceSystem


class NamespacePatch(PatchBody):
    """A change of settings; null clears."""

    supporting_context: SupportingContext | None = None


class NamespaceDeleted(ResponseBody):
    """Deleted namespace, with the number of its documents and memories."""

    status: Literal["deleted"]
    namespace: str
    deleted_documents_count: Count
    deleted_memories_count: Count


class NamespaceMoveQueued(ResponseBody):
    """Queued move of the content to another namespace."""

    status: Literal["queued"]
    operation_id: str
    namespace: str
    move_to: str


class OrganizationPatch(PatchBody):
    """Organizational context; null clears it."""

    organizational_context: Annotated[Text, Field(min_length=1)] | None


class OrganizationResponse(ResponseBody):
    """`namespace_count` is the number of namespaces that the key may read."""

    organizational_context: str | None
    namespace_count: Count
