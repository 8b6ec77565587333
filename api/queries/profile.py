"""Profiles: what lasts, what is going on now, and the namespace's own sections."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.columns import microseconds
from pipeline.index.cache import NamespaceCache
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.past import PastNamespace
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
        made = await self.portrait(namespace, organization, body.filter)
        names = body.buckets if body.buckets is not None else made.buckets
        return Profile(
            static=_shown(made.static),
            dynamic=_shown(made.dynamic),
            buckets={name: _shown(made.buckets.get(name, ())) for name in names},
        )

    async def portrait(
        self, namespace: NamespaceRow, organization: OrganizationRow, expression: FilterExpression | None
    ) -> Portrait:
        """All sections, with every change made so far."""
        if expression is None:
            return await self.profiles.portrait(namespace, organization)
        index, definitions = await self.cache.open(namespace), effective(namespace, organization)
        return await self.under(expression, index, definitions, self.clock.now())

    async def past(
        self,
        index: PastNamespace,
        definitions: Mapping[str, str],
        expression: FilterExpression | None,
        moment: datetime,
    ) -> Portrait:
        """The same of a namespace as it was, with the buckets that are defined now."""
        if expression is not None:
            return await self.under(expression, index, definitions, moment)
        holding = await self.profiles.holding(definitions)
        rows = index.remembered()
        await asyncio.to_thread(holding.change, [(row.id, row) for row in rows])
        return portrait(holding.facts.values(), definitions, microseconds(moment) // 1000)

    async def under(
        self,
        expression: FilterExpression,
        index: NamespaceIndex,
        definitions: Mapping[str, str],
        moment: datetime,
    ) -> Portrait:
        """The same of the memories that a filter lets through."""
        memories = await index.newest(expression, REGARDED)
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
        return portrait(facts, definitions, microseconds(moment) // 1000)


def _shown(facts: Sequence[Stated]) -> list[ProfileFact]:
    return [ProfileFact(id=one.id, memory=one.text) for one in facts]
