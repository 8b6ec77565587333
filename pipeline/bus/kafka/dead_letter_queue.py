"""Dead letters on Kafka. Kafka can't delete single records, so a group position marks the settled ones."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from aiokafka import TopicPartition

from pipeline.bus.kafka.cluster import Cluster
from pipeline.bus.kafka.offsets import REDRIVE_GROUP, Offsets
from pipeline.bus.kafka.producers import KafkaProducers
from pipeline.bus.kafka.topic_admin import DEAD_LETTER_SUFFIX, TopicAdmin
from pipeline.bus.kafka.topic_reader import read_partition
from pipeline.bus.records import (
    DEAD_LETTER_HEADERS,
    DeadLetter,
    ProducerRecord,
    RawRecord,
    WithOpeners,
    select_dead_letters,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeadLetterQueue:
    """Letters on `.dlq` topics after the position of `recollect.redrive`; settled ones stay before it."""

    cluster: Cluster
    topic_admin: TopicAdmin
    offsets: Offsets
    producers: KafkaProducers
    with_openers: WithOpeners
    _settle_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def list_letters(self, topic: str | None, limit: int) -> list[DeadLetter]:
        """List letters that were not redriven or dropped."""
        return await select_dead_letters(self._read_letters(topic), limit)

    async def redrive_or_drop(
        self, topic: str | None, limit: int, ids: Collection[str] | None, *, redrive: bool
    ) -> int:
        """Redrive or drop letters and advance the position past them; return their number.

        After a crash in between, some letters are redriven twice, but none is lost.
        """
        async with self._settle_lock:
            letters = await select_dead_letters(self._read_letters(topic), limit, ids)
            if redrive:
                for letter in letters:
                    await self.producers.send_raw(letter.origin[0], [letter.to_redriven()])
            await self._advance_past(letters, topic)
        return len(letters)

    async def beginning_offsets(self, topic: str) -> dict[TopicPartition, int]:
        """Return the first offsets of a topic; of a `.dlq` topic, those after the settled letters."""
        starts = await self.offsets.beginning_offsets([topic])
        if topic.endswith(DEAD_LETTER_SUFFIX) and starts:
            for partition, offset in (await self.offsets.committed_offsets(REDRIVE_GROUP)).items():
                if partition in starts:
                    starts[partition] = max(starts[partition], offset)
        return starts

    async def _advance_past(self, settled: Sequence[DeadLetter], topic: str | None) -> None:
        """Move the position past the settled letters; unsettled ones between them are appended again."""
        ends: dict[TopicPartition, int] = {}
        for letter in settled:
            partition = TopicPartition(letter.record.topic, letter.record.partition)
            ends[partition] = max(ends.get(partition, 0), letter.record.offset + 1)
        if not ends:
            return
        settled_ids = {letter.id for letter in settled}
        async for letter in self._read_letters(topic):
            record = letter.record
            end = ends.get(TopicPartition(record.topic, record.partition), 0)
            if record.offset < end and letter.id not in settled_ids:
                entry = ProducerRecord(record.key, record.value, record.headers)
                await self.producers.send_raw(record.topic, [entry])
        # Another process may have advanced the position meanwhile.
        committed = await self.offsets.committed_offsets(REDRIVE_GROUP)
        await self.offsets.commit_offsets(
            REDRIVE_GROUP, {partition: max(end, committed.get(partition, 0)) for partition, end in ends.items()}
        )

    async def _read_letters(self, topic: str | None) -> AsyncGenerator[DeadLetter, None]:
        topics = await self.topic_admin.dead_letter_topics() if topic is None else [f"{topic}{DEAD_LETTER_SUFFIX}"]
        for name in topics:
            starts = await self.beginning_offsets(name)
            for partition, end in sorted((await self.offsets.end_offsets([name])).items()):
                letters = read_partition(self.cluster, partition, starts[partition], end, self.with_openers)
                async with aclosing(letters) as records:
                    async for record in records:
                        if _is_dead_letter(record):
                            yield DeadLetter.from_record(record)


def _is_dead_letter(record: RawRecord) -> bool:
    """Return whether a record has the headers of a dead letter; one that another program wrote is named in the log."""
    lacking = sorted(DEAD_LETTER_HEADERS - record.headers.keys())
    if lacking:
        place = f"{record.topic}/{record.partition}/{record.offset}"
        _log.warning("%s is no dead letter of this service: it lacks the headers %s.", place, ", ".join(lacking))
    return not lacking
