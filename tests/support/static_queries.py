"""Stand-ins for the queries that have tests of their own: they answer what they are told to."""

from collections.abc import Collection, Sequence

from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from schemas.http.v5.memory_bodies import MemoryIncluded
from schemas.http.v5.profile_bodies import Profile, ProfileBody, ProfileFact
from schemas.http.v5.search_bodies import SearchBody, SearchResponse


class StaticQueries:
    """Search, profile, relation and semantic-match functions of `api.dependencies.service_interfaces`."""

    def __init__(self) -> None:
        self.searched: list[tuple[NamespaceRow, SearchBody]] = []
        self.matches: list[MemoryRow] = []

    async def search(
        self, namespace: NamespaceRow, body: SearchBody, *, documents: tuple[str, ...] | None = None
    ) -> SearchResponse:
        self.searched.append((namespace, body))
        return SearchResponse(results=[], search_time=0.1)

    async def profile(self, namespace: NamespaceRow, organization: OrganizationRow, body: ProfileBody) -> Profile:
        fact = ProfileFact(id="m1", memory="Ada lives in\nBerlin")
        return Profile(static=[fact], dynamic=[], buckets={name: [] for name in body.buckets or []})

    async def related(
        self, namespace: NamespaceRow, memory: MemoryRow, *, include: Collection[str], limit: int
    ) -> MemoryIncluded:
        return MemoryIncluded()

    async def semantic_matches(self, namespace: NamespaceRow, query: str) -> Sequence[MemoryRow]:
        return self.matches
