"""Profiles: what lasts, what is going on now, and the namespace's own sections."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.columns import microseconds
from pipeline.index.cache import NamespaceCache
from pipeline.ports import Clock
from pipeline.profile.aggregates import Stated
from pipeline.profile.buckets import effective
from pipeline.profile.holding import time_of
from pipeline.profile.sections import Fact, Portrait, portrait
from pipeline.profile.view import Profiles
from pipeline.rows import NamespaceRow, OrganizationRow
from schemas.filters import FilterExpression
from schemas.http.profile import Profile, ProfileBody, ProfileFact

REGARDED = 200
"""Newest facts of each kind of which a profile is made under a filter, which nobody knows in advance."""


@dataclass(frozen=True, slots=True)
class Profiling:
    """`api.ports.Profiles`: from what is kept up to date, or under a filter from the hot index."""

    profiles: Profiles
    cache: NamespaceCache
    clock: Clock

    async def __call__(
        self, namespace: NamespaceRow, organization: OrganizationRow, body: ProfileBody
    ) -> Profile:
        """The profile of a namespace. A bucket that nobody defined stays empty."""
        if body.filter is None:
            made = await self.profiles.portrait(namespace, organization)
        else:
            made = await self._under(body.filter, namespace, organization)
        names = body.buckets if body.buckets is not None else made.buckets
        return Profile(
            static=_shown(made.static),
            dynamic=_shown(made.dynamic),
            buckets={name: _shown(made.buckets.get(name, ())) for name in names},
        )

    async def _under(
        self, expression: FilterExpression, namespace: NamespaceRow, organization: OrganizationRow
    ) -> Portrait:
        """The same of the memories that a filter lets through."""
        index = await self.cache.open(namespace)
        memories = await index.newest(expression, REGARDED)
        definitions = effective(namespace, organization)
        buckets = await self.profiles.judged(
            definitions,
            [one.id for one in memories],
            [one.vector for one in memories],
            [one.text for one in memories],
        )
        facts = [
            Fact(one.id, one.text, time_of(one.updated_at, one.date), one.is_static, buckets=names)
            for one, names in zip(memories, buckets, strict=True)
        ]
        return portrait(facts, definitions, microseconds(self.clock.now()) // 1000)


def _shown(facts: Sequence[Stated]) -> list[ProfileFact]:
    return [ProfileFact(id=one.id, memory=one.text) for one in facts]
