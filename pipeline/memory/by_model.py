"""Facts found by a language model: bounded questions, and rules for whatever it gives no answer to."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from pipeline.errors import AwayError, RetryableError
from pipeline.memory.asking import Memories, found, question
from pipeline.memory.bundles import Part, planned
from pipeline.memory.drafts import MOST, Draft, unrepeated
from pipeline.memory.extraction import Delay, Found, stated, warn_of_many
from pipeline.memory.writing import Work
from pipeline.ports import Catalog, Clock, LanguageModel, Publisher, Spent, UnusableError
from pipeline.rows import MemoryRow, NamespaceRow
from pipeline.spending import tell, usage

log = logging.getLogger(__name__)

OVERHEAD_TOKENS = 1500
"""For the instructions, the contexts and what is known."""
AGAIN_SECONDS = 5.0
"""When to try again where what is known can't be looked up now."""

Nearby = Callable[[NamespaceRow, Sequence[Work]], Awaitable[Sequence[MemoryRow]]]
"""Memories that may have to do with these documents, of what they may see of the namespace."""
Told = Callable[[str, Spent], None]
"""How a question ended (`formed`, `unusable`, `away`), and what it cost."""


@dataclass(frozen=True, slots=True)
class ByModel:
    """`Extraction` with a language model. `input_tokens`: of one question, about."""

    model: LanguageModel
    catalog: Catalog
    nearby: Nearby
    publisher: Publisher
    clock: Clock
    input_tokens: int
    told: Told = field(default=lambda _, __: None)

    async def facts(self, owner: NamespaceRow, works: Sequence[Work]) -> Sequence[Found]:
        """As `Extraction.facts`: a document waits while the endpoint is away, and never for anything else."""
        plan = planned(works, max(OVERHEAD_TOKENS, self.input_tokens - OVERHEAD_TOKENS))
        answers = await asyncio.gather(*(self._asked(owner, works, bundle) for bundle in plan.bundles))
        facts: defaultdict[int, list[Draft]] = defaultdict(list)
        delays: dict[int, Delay] = {}
        for bundle, answer in zip(plan.bundles, answers, strict=True):
            if isinstance(answer, Delay):
                delays |= dict.fromkeys((part.place for part in bundle), answer)
                continue
            for place, draft in answer:
                facts[place].append(draft)
        for place, draft in await asyncio.to_thread(by_rules, works, plan.rest):
            facts[place].append(draft)
        return [
            delays[place] if place in delays else _each_once(work, facts[place])
            for place, work in enumerate(works)
        ]

    async def _asked(
        self, owner: NamespaceRow, works: Sequence[Work], bundle: Sequence[Part]
    ) -> list[tuple[int, Draft]] | Delay:
        about = [(part, works[part.place]) for part in bundle]
        try:
            known = await self.nearby(owner, [replace(work, text=part.text) for part, work in about])
        except RetryableError as error:
            return Delay(str(error), AGAIN_SECONDS)
        asked = question(self.catalog.organization(), owner, about, known)
        try:
            reply = await self.model.ask(asked.instructions, asked.text, Memories)
        except AwayError as error:
            self.told("away", Spent())
            return Delay(str(error), error.seconds)
        except UnusableError as error:
            log.warning("Rules find the facts of %d documents instead: %s", len(bundle), error)
            await self._spent(owner, bundle, "unusable", error.spent)
            return await asyncio.to_thread(by_rules, works, bundle)
        await self._spent(owner, bundle, "formed", reply.spent)
        facts = found(reply.answer, bundle, asked.known)
        return [(place, replace(draft, by=self.model.name)) for place, draft in facts]

    async def _spent(self, owner: NamespaceRow, bundle: Sequence[Part], outcome: str, spent: Spent) -> None:
        self.told(outcome, spent)
        documents = len({part.place for part in bundle})
        event = usage(
            owner.spaces[0],
            self.clock.now(),
            self.model.name,
            spent,
            purpose="memories",
            outcome="formed" if outcome == "formed" else "unusable",
            documents=documents,
        )
        await tell(self.publisher, event)


def by_rules(works: Sequence[Work], parts: Sequence[Part]) -> list[tuple[int, Draft]]:
    """What the rules find in these parts, with its place in the documents."""
    return [
        (part.place, replace(one, start=_moved(one.start, part), end=_moved(one.end, part)))
        for part in parts
        for one in stated(replace(works[part.place], text=part.text))
    ]


def _moved(offset: int | None, part: Part) -> int | None:
    return None if offset is None else offset + part.start


def _each_once(work: Work, facts: Sequence[Draft]) -> list[Draft]:
    """Without what a part repeats of another one."""
    unique = list(unrepeated(facts))
    if len(unique) > MOST:
        warn_of_many(work)
    return unique[:MOST]
