"""Dead letters on Kafka, which can't take single records away: a position says which are settled."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from aiokafka import TopicPartition

from pipeline.bus.kafka.cluster import Cluster
from pipeline.bus.kafka.offsets import REDRIVE, Offsets
from pipeline.bus.kafka.publishing import Publishing
from pipeline.bus.kafka.reading import read
from pipeline.bus.kafka.topics import DEAD_LETTERS, Topics
from pipeline.records import DeadLetter, Entry


class Parking:
    """The `.dlq` topics from where the group `recollect.redrive` stands; what is settled stays on them."""

    def __init__(self, cluster: Cluster, topics: Topics, offsets: Offsets, publishing: Publishing) -> None:
        self._cluster = cluster
        self._topics = topics
        self._offsets = offsets
        self._publishing = publishing
        self._settling = asyncio.Lock()

    async def letters(self, topic: str | None, limit: int) -> list[DeadLetter]:
        """What was parked and not given back or dropped since."""
        found: list[DeadLetter] = []
        async with aclosing(self._letters(topic)) as letters:
            while len(found) < limit and (letter := await anext(letters, None)) is not None:
                found.append(letter)
        return found

    async def settle(
        self, topic: str | None, limit: int, only: Collection[str] | None, *, again: bool
    ) -> int:
        """Give letters back, or drop them, and remember it; how many there were.

        What ends in between gives some back twice, never none.
        """
        async with self._settling:
            letters = await self._chosen(topic, limit, only)
            if again:
                for letter in letters:
                    await self._publishing.raw(letter.origin[0], [letter.redriven()])
            await self._pass(letters, topic)
        return len(letters)

    async def starts(self, topic: str) -> dict[TopicPartition, int]:
        """Where a topic begins; of dead letters, after those that are settled."""
        starts = await self._offsets.starts([topic])
        if topic.endswith(DEAD_LETTERS) and starts:
            for place, offset in (await self._offsets.positions(REDRIVE)).items():
                if place in starts:
                    starts[place] = max(starts[place], offset)
        return starts

    async def _chosen(self, topic: str | None, limit: int, only: Collection[str] | None) -> list[DeadLetter]:
        if only is None:
            return await self.letters(topic, limit)
        return [letter async for letter in self._letters(topic) if letter.id in only][:limit]

    async def _pass(self, done: Sequence[DeadLetter], topic: str | None) -> None:
        """Go on behind these; what lies between them and is not done yet is parked once more, behind them."""
        ends: dict[TopicPartition, int] = {}
        for letter in done:
            place = TopicPartition(letter.record.topic, letter.record.partition)
            ends[place] = max(ends.get(place, 0), letter.record.offset + 1)
        if not ends:
            return
        ids = {letter.id for letter in done}
        async for letter in self._letters(topic):
            record = letter.record
            end = ends.get(TopicPartition(record.topic, record.partition), 0)
            if record.offset < end and letter.id not in ids:
                entry = Entry(record.key, record.value, record.headers)
                await self._publishing.raw(record.topic, [entry])
        # Another process may have come further meanwhile.
        passed = await self._offsets.positions(REDRIVE)
        await self._offsets.place(
            REDRIVE, {place: max(end, passed.get(place, 0)) for place, end in ends.items()}
        )

    async def _letters(self, topic: str | None) -> AsyncGenerator[DeadLetter, None]:
        names = [f"{topic}{DEAD_LETTERS}"] if topic is not None else await self._topics.parked()
        for name in names:
            starts = await self.starts(name)
            for place, end in sorted((await self._offsets.ends([name])).items()):
                async with aclosing(read(self._cluster, place, starts[place], end)) as records:
                    async for record in records:
                        yield DeadLetter.read(record)
