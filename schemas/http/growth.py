"""How namespaces grow. Ours, and outside the contract."""

from schemas.base import Answer
from schemas.http.parts import Count


class NamespaceGrowth(Answer):
    """What was added on each day and is still there; memories are counted by when they were formed."""

    namespace: str
    documents: list[Count]
    memories: list[Count]


class GrowthAnswer(Answer):
    """`days`: dates in UTC, the oldest first, the last one today; every list has one number for each."""

    days: list[str]
    namespaces: list[NamespaceGrowth]
