"""Bodies of filtered lists of memories (extension of the contract)."""

from typing import Literal

from schemas.base import ResponseBody
from schemas.http.pagination import Pagination
from schemas.http.v5.memory_bodies import MemoryResponse

MemoryKind = Literal["long-term", "recent", "stated", "inferred"]
MemoryState = Literal["current", "replaced", "forgotten"]


class FilteredMemories(ResponseBody):
    """A page of memories. `is_complete`: all memories were looked through, not only the newest."""

    memories: list[MemoryResponse]
    pagination: Pagination
    is_complete: bool
