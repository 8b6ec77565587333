"""Stand-ins for the queries that have tests of their own: they answer what they are told to."""

from collections.abc import Collection, Sequence

from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from schemas.http.memories import MemoryIncluded
from schemas.http.profile import Profile, ProfileBody, ProfileFact
from schemas.http.search import SearchAnswer, SearchBody


class StaticQueries:
    """`api.ports.Search`, `Profiles`, `Related` and `Matching`."""

    def __init__(self) -> None:
        self.searched: list[tuple[NamespaceRow, SearchBody]] = []
        self.matches: list[MemoryRow] = []

    async def search(self, namespace: NamespaceRow, body: SearchBody) -> SearchAnswer:
        self.searched.append((namespace, body))
        return SearchAnswer(results=[], search_time=0.1)

    async def profile(
        self, namespace: NamespaceRow, organization: OrganizationRow, body: ProfileBody
    ) -> Profile:
        fact = ProfileFact(id="m1", memory="Ada lives in\nBerlin")
        return Profile(static=[fact], dynamic=[], buckets={name: [] for name in body.buckets or []})

    async def related(
        self, namespace: NamespaceRow, memory: MemoryRow, *, include: Collection[str], limit: int
    ) -> MemoryIncluded:
        return MemoryIncluded()

    async def matching(self, namespace: NamespaceRow, query: str) -> Sequence[MemoryRow]:
        return self.matches
