"""Bodies of memory graphs (extension of the contract)."""

from typing import Literal

from schemas.base import ResponseBody
from schemas.http.field_types import Count, Timestamp


class GraphMemory(ResponseBody):
    """Memory in a graph; `ended_at`: when it was replaced, forgotten or expired, None: it holds.

    `document`: id of a document that states it, None if it is deleted.
    """

    id: str
    memory: str
    document: str | None
    is_static: bool
    is_inference: bool
    created_at: Timestamp
    ended_at: Timestamp | None


class GraphRelation(ResponseBody):
    """Relation of a memory to the memory that it updates, extends or derives from; by places in `memories`."""

    source: Count
    target: Count
    kind: Literal["updates", "extends", "derives"]


class GraphName(ResponseBody):
    """Person, place or thing, with the places in `memories` of those that name it."""

    name: str
    memories: list[Count]


class GraphResponse(ResponseBody):
    """Memories of a namespace, newest first, with their relations and the names in them; `total`: of all memories."""

    memories: list[GraphMemory]
    relations: list[GraphRelation]
    names: list[GraphName]
    total: Count
