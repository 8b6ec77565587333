"""The bus beyond one machine: Apache Kafka, and as many processes as there are partitions."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from aiokafka import TopicPartition
from faststream.kafka import KafkaBroker

from pipeline import tracing
from pipeline.bus.following import following
from pipeline.bus.kafka.cluster import PRODUCER, Cluster, KafkaOpenError, KafkaOptions
from pipeline.bus.kafka.feeding import StageFeed
from pipeline.bus.kafka.offsets import Offsets
from pipeline.bus.kafka.parking import Parking
from pipeline.bus.kafka.publishing import Publishing
from pipeline.bus.kafka.reading import TopicFeed, read
from pipeline.bus.kafka.topics import Topics
from pipeline.bus.port import Follower, Handle
from pipeline.delivery import Delivery, Patience
from pipeline.errors import OutageError
from pipeline.observing import Observer
from pipeline.ports import Clock, Position
from pipeline.records import DeadLetter, Entry, RawRecord, decoded
from pipeline.stage import Stage
from schemas import topics as all_topics
from schemas.base import Event
from schemas.ids import partition as partition_of
from schemas.topics import Topic

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from prometheus_client import CollectorRegistry

E = TypeVar("E", bound=Event)
log = logging.getLogger(__name__)

POLL_SECONDS = 0.05
"""How often other processes' positions are looked at, by whoever waits for them."""
FORESEE = 512


class KafkaBus:
    """`pipeline.bus.port.Bus` on a Kafka cluster. Any number of processes may have one each."""

    def __init__(
        self,
        cluster: Cluster,
        instruments: Sequence[Any],
        clock: Clock,
        patience: Patience,
        observer: Observer | None = None,
        *,
        tracers: "TracerProvider | None" = None,
    ) -> None:
        self._cluster = cluster
        self._instruments = instruments
        self._topics = Topics(cluster)
        self._offsets = Offsets(cluster, self._topics)
        self._publishing = Publishing(cluster, self._topics, self._broker)
        self._delivery = Delivery(self, clock, patience, observer=observer)
        self._feeds: dict[str, StageFeed] = {}
        self._tracers = tracers
        self._parking = Parking(cluster, self._topics, self._offsets, self._publishing)

    @classmethod
    async def open(
        cls,
        options: KafkaOptions,
        *,
        clock: Clock,
        patience: Patience | None = None,
        observer: Observer | None = None,
        topics: Sequence[Topic[Any]] = all_topics.ALL,
        registry: "CollectorRegistry | None" = None,
        tracers: "TracerProvider | None" = None,
    ) -> "KafkaBus":
        """Connected, and with every topic there. KafkaOpenError says what is wrong with the cluster.

        FastStream's metrics go to `registry` and its spans to `tracers`, where these are given; the bus shuts
        these down.
        """
        try:
            cluster = Cluster(options)
        except OSError as error:
            raise KafkaOpenError(f"The certificates for Kafka can't be read: {error}.") from error
        instruments = _instruments(registry, tracers)
        bus = cls(cluster, instruments, clock, patience or Patience(), observer, tracers=tracers)
        try:
            await bus._prepare(topics)
        except BaseException:
            await bus.close()
            raise
        return bus

    @property
    def partitions(self) -> int:
        return self._cluster.options.partitions

    @property
    def description(self) -> str:
        """What it is and where, for people."""
        return f"Kafka at {self._cluster.options.bootstrap}"

    @property
    def trouble(self) -> str | None:
        """Why the last records could not be written; None: they were."""
        return self._publishing.trouble

    @property
    def nbytes(self) -> None:
        """The log is on the brokers' disks."""
        return

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append events; with all replicas in sync on return. KafkaUnavailableError within a bounded time.

        After that error it may still be written, when Kafka is back: ids make a repetition harmless.
        """
        await self._topics.ensure([topic])
        raw = [
            Entry(key.encode(), event.model_dump_json().encode(), tracing.headers(event))
            for key, event in entries
        ]
        return await self._publishing.events(topic.name, raw)

    async def append(self, topic: str, entries: Sequence[Entry]) -> list[Position]:
        return await self._publishing.raw(topic, entries)

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool = False) -> None:
        """Feed the stages with the partitions that fall to this process, as a member of their groups."""
        groups = [stage.group for stage in stages]
        self._claim(groups)
        try:
            await self._topics.ensure(stage.source for stage in stages)
            await self._feed(stages, until_idle=until_idle)
        finally:
            for group in groups:
                self._feeds.pop(group, None)

    async def drain(self) -> None:
        """As `Bus.drain`; the group goes on in other processes once `run` is cancelled."""
        await asyncio.gather(*(feed.drain() for feed in self._feeds.values()))

    async def foresee(self, stages: Sequence[Stage[Any]]) -> None:
        for stage in stages:
            await self._foresee(stage)

    def follow(self, topic: Topic[E], handle: Handle[E]) -> AbstractAsyncContextManager[Follower]:
        return self._follow(topic, handle)

    async def reached(self, group: str, topic: str, partition: int, offset: int) -> None:
        place = TopicPartition(topic, partition)
        while True:
            if (await self._offsets.positions(group)).get(place, 0) > offset:
                return
            await asyncio.sleep(POLL_SECONDS)

    async def lag(self, stages: Sequence[Stage[Any]] = ()) -> dict[str, dict[tuple[str, int], int]]:
        """As Kafka knows it, over all processes. Gaps that compaction leaves are counted in."""
        groups = sorted({*await self._offsets.groups(), *(stage.group for stage in stages)})
        found = await asyncio.gather(*(self._offsets.positions(group) for group in groups))
        read = {
            group: {place.topic for place in positions}
            | {stage.source.name for stage in stages if stage.group == group}
            for group, positions in zip(groups, found, strict=True)
        }
        topics = {topic for some in read.values() for topic in some}
        ends, starts = await self._offsets.ends(topics), await self._offsets.starts(topics)
        return {
            group: {
                (place.topic, place.partition): max(0, end - max(positions.get(place, 0), starts[place]))
                for place, end in ends.items()
                if place.topic in read[group]
            }
            for group, positions in zip(groups, found, strict=True)
        }

    async def ends(self, topic: str) -> dict[int, int]:
        """Per partition of the topic, the offset that its next record will get."""
        return {place.partition: end for place, end in (await self._offsets.ends([topic])).items()}

    async def depth(self, topic: str) -> int:
        starts = await self._parking.starts(topic)
        ends = await self._offsets.ends([topic])
        return sum(end - starts[place] for place, end in ends.items())

    async def rewind(self, group: str, topic: str) -> None:
        starts = await self._offsets.starts([topic])
        if group in self._feeds:
            async with self._cluster.bounded(f"rewind {group}"):
                await self._feeds[group].rewind(starts)
        else:
            await self._offsets.place(group, starts)

    async def adopt(self, group: str, topic: str, other: str) -> None:
        """As `Bus.adopt`; ValueError while the group has members anywhere."""
        found, starts = await self._offsets.positions(other), await self._offsets.starts([topic])
        await self._offsets.place(group, {place: found.get(place, start) for place, start in starts.items()})

    async def forget(self, group: str) -> None:
        await self._offsets.forget(group)

    async def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[RawRecord, None]:
        """What there was when asked, partition by partition, each from offset `start` to before `end`."""
        heads = await self._offsets.ends([topic])
        for place, head in sorted(heads.items()):
            if partition in (None, place.partition):
                until = head if end is None else min(head, end)
                async with aclosing(read(self._cluster, place, start, until)) as records:
                    async for record in records:
                        yield record

    async def record(self, topic: str, key: str, offset: int) -> RawRecord | None:
        place = await self._place(topic, key)
        end = (await self._offsets.ends([topic])).get(place, 0)
        async with aclosing(read(self._cluster, place, offset, min(offset + 1, end))) as records:
            async for record in records:
                return record if record.offset == offset else None
        return None

    async def since(self, topic: str, key: str, moment: datetime) -> AsyncGenerator[RawRecord, None]:
        place = await self._place(topic, key)
        end = (await self._offsets.ends([topic])).get(place, 0)
        start = await self._offsets.at(place, moment)
        begin = end if start is None else start
        async with aclosing(read(self._cluster, place, begin, end)) as records:
            async for record in records:
                yield record

    async def _place(self, topic: str, key: str) -> TopicPartition:
        return TopicPartition(topic, partition_of(key.encode(), await self._topics.partitions(topic)))

    async def dead_letters(self, topic: str | None = None, limit: int = 100) -> list[DeadLetter]:
        return await self._parking.letters(topic, limit)

    async def redrive(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        return await self._parking.settle(topic, limit, only, again=True)

    async def drop(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        return await self._parking.settle(topic, limit, only, again=False)

    async def maintain(self, topics: Sequence[Topic[Any]]) -> int:
        """Nothing: a broker applies retention and compaction by itself."""
        del topics
        return 0

    async def close(self) -> None:
        await self._publishing.close()
        await self._cluster.close()
        if self._tracers is not None:
            await asyncio.to_thread(self._tracers.shutdown)

    async def _prepare(self, topics: Sequence[Topic[Any]]) -> None:
        try:
            await self._topics.ensure(topics)
            await self._publishing.start()
        except OutageError as error:
            raise KafkaOpenError(f"{error} See RECOLLECT_KAFKA_BOOTSTRAP and the broker's log.") from error
        for said in await self._topics.check(topics):
            log.warning("%s", said)

    def _claim(self, groups: Sequence[str]) -> None:
        twice = sorted(group for group in set(groups) if group in self._feeds or groups.count(group) > 1)
        if twice:
            raise ValueError(f"each stage runs once per bus, these run already or twice: {', '.join(twice)}")

    async def _feed(self, stages: Sequence[Stage[Any]], *, until_idle: bool) -> None:
        broker = self._broker(consumer_only=True)
        feeds = [self._stage_feed(stage, broker) for stage in stages]
        await broker.connect()
        tasks = [asyncio.create_task(feed.run(), name=feed.stage.name) for feed in feeds]
        if until_idle:
            tasks.append(asyncio.create_task(self._level(stages)))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await broker.stop()
        for task in done:
            await task

    def _stage_feed(self, stage: Stage[Any], broker: KafkaBroker) -> StageFeed:
        feed = StageFeed(stage, broker=broker, delivery=self._delivery, options=self._cluster.options)
        self._feeds[stage.group] = feed
        return feed

    async def _level(self, stages: Iterable[Stage[Any]]) -> None:
        """Wait until these groups have handled all there is, in whatever process.

        Each partition is given a position as soon as it has an owner. Positions are asked for before the ends
        are: what they had passed by then was handled, so nothing under way can have moved an end unseen.
        """
        wanted = {stage.group: stage.source.name for stage in stages}
        while True:
            found = [await self._offsets.positions(group) for group in wanted]
            ends = [await self._offsets.ends([topic]) for topic in wanted.values()]
            if all(
                positions.get(place, -1) >= end
                for positions, some in zip(found, ends, strict=True)
                for place, end in some.items()
            ):
                return
            await asyncio.sleep(POLL_SECONDS)

    async def _foresee(self, stage: Stage[E]) -> None:
        if stage.foresee is None:
            return
        positions = await self._offsets.positions(stage.group)
        for place, end in sorted((await self._offsets.ends([stage.source.name])).items()):
            batch: list[RawRecord] = []
            async with aclosing(read(self._cluster, place, positions.get(place, 0), end)) as records:
                async for record in records:
                    batch.append(record)
                    if len(batch) == FORESEE:
                        await stage.foresee(decoded(stage, batch))
                        batch = []
            if batch:
                await stage.foresee(decoded(stage, batch))

    @asynccontextmanager
    async def _follow(self, topic: Topic[E], handle: Handle[E]) -> AsyncIterator[Follower]:
        await self._topics.ensure([topic])
        feed = TopicFeed(self._cluster, self._offsets, topic.name)
        async with following(feed, topic, handle) as follower:
            yield follower

    def _broker(self, *, consumer_only: bool = False) -> KafkaBroker:
        options = self._cluster.options
        return KafkaBroker(
            options.bootstrap,
            client_id=self._cluster.name,
            security=self._cluster.security,
            request_timeout_ms=round(options.patience * 1000),
            consumer_only=consumer_only,
            middlewares=self._instruments,
            apply_types=False,
            logger=_Log(),
            log_level=logging.DEBUG,
            **PRODUCER,
        )


class _Log:
    """FastStream's messages, but for the warning that it makes no topics: they are made before."""

    def log(self, level: int, msg: Any, /, *, exc_info: Any = None, extra: Any = None) -> None:
        if not str(msg).startswith("Topic creation is skipped"):
            log.log(level, "%s", msg, exc_info=exc_info, extra=extra)


def _instruments(registry: "CollectorRegistry | None", tracers: "TracerProvider | None") -> list[Any]:
    instruments: list[Any] = []
    if registry is not None:
        from faststream.kafka.prometheus import KafkaPrometheusMiddleware

        instruments.append(KafkaPrometheusMiddleware(registry=registry, app_name="recollect"))
    if tracers is not None:
        from faststream.kafka.opentelemetry import KafkaTelemetryMiddleware

        instruments.append(KafkaTelemetryMiddleware(tracer_provider=tracers))
    return instruments
