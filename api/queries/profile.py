"""Profiles: what lasts, what is going on now, and the namespace's own sections."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from weakref import ref

from pipeline.columns import microseconds
from pipeline.errors import NotReadyError
from pipeline.index.cache import NamespaceCache
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.past import PastNamespace
from pipeline.ports import Clock
from pipeline.profile.aggregates import Stated
from pipeline.profile.buckets import effective
from pipeline.profile.holding import time_of
from pipeline.profile.sections import Fact, Portrait, portrait
from pipeline.profile.view import FRESH_MS, Profiles
from pipeline.rows import NamespaceRow, OrganizationRow
from schemas.filters import FilterExpression
from schemas.http.profile import Profile, ProfileBody, ProfileFact

REGARDED = 200
"""Newest facts of each kind of which a profile is made under a filter, which nobody knows in advance."""
PATIENCE_SECONDS = 20.0
"""The first profile of a very large namespace after a start is waited for so long, and made all the same."""
AGAIN_SECONDS = 5
_BEING_READ = (
    "The memories of namespace {name} are being read, as they are once after a start. It goes on: ask again."
)
NARROWED = 256
"""Profiles under a filter that are kept, some ten KB each."""


_Question = tuple[str, str, tuple[tuple[str, str], ...]]
"""A namespace, a filter and the definitions of buckets."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A portrait, of what an index held after it `settled` so often, at a moment."""

    index: "ref[NamespaceIndex]"
    settled: int
    moment: datetime
    portrait: Portrait


class Narrowed:
    """The profiles that were narrowed by filters lately, as long as they are what the index says."""

    def __init__(self, capacity: int = NARROWED) -> None:
        self._capacity = capacity
        self._made: OrderedDict[_Question, _Made] = OrderedDict()

    def find(self, question: _Question, index: NamespaceIndex, now: datetime) -> Portrait | None:
        """The profile, if nothing changed since."""
        made = self._made.get(question)
        if made is None or made.index() is not index or made.settled != index.settled:
            return None
        if not made.moment <= now < made.moment + timedelta(milliseconds=FRESH_MS):
            return None
        self._made.move_to_end(question)
        return made.portrait

    def keep(self, question: _Question, made: _Made) -> None:
        """Until others were asked for more lately."""
        self._made[question] = made
        self._made.move_to_end(question)
        while len(self._made) > self._capacity:
            self._made.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Profiling:
    """`api.ports.Profiles`: from what is kept up to date, or under a filter from the hot index."""

    profiles: Profiles
    cache: NamespaceCache
    clock: Clock
    patience: float = PATIENCE_SECONDS
    narrowed: Narrowed = field(default_factory=Narrowed)

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
        """All sections, with every change made so far; NotReadyError where reading them takes long."""
        bound = asyncio.timeout(self.patience)
        try:
            async with bound:
                return await self._portrait(namespace, organization, expression)
        except TimeoutError:
            if not bound.expired():
                raise
            raise NotReadyError(_BEING_READ.format(name=namespace.name), AGAIN_SECONDS) from None

    async def _portrait(
        self, namespace: NamespaceRow, organization: OrganizationRow, expression: FilterExpression | None
    ) -> Portrait:
        if expression is None:
            return await self.profiles.portrait(namespace, organization)
        index, definitions = await self.cache.open(namespace), effective(namespace, organization)
        now = self.clock.now()
        question = (namespace.name, expression.model_dump_json(), tuple(definitions.items()))
        there = self.narrowed.find(question, index, now)
        if there is None:
            settled = index.settled
            there = await self.under(expression, index, definitions, now)
            self.narrowed.keep(question, _Made(ref(index), settled, now, there))
        return there

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
