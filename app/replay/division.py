"""Divisions of a replay: parts of the log whose rows lie in shards that no other part has rows in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

from pydantic import BaseModel, ConfigDict

from pipeline.store.generations.generation_registry import Generation, TopicOffsets
from pipeline.store.generations.replay_request import ReplayRequest
from schemas.ids import partition
from schemas.topics import Topic


@dataclass(frozen=True, slots=True)
class Division:
    """One of `count` divisions: the incarnations, and so the partitions, whose hash leaves this remainder.

    Partition and shard of an incarnation are remainders of one hash. `count` divides the numbers of both, so the
    records of a division are in partitions of its own, and its rows in shards of its own.
    """

    number: int
    count: int

    def holds(self, incarnation: str) -> bool:
        return division_of(incarnation, self.count) == self.number

    def select(self, offsets: TopicOffsets) -> TopicOffsets:
        return {
            topic: {number: offset for number, offset in partitions.items() if number % self.count == self.number}
            for topic, partitions in offsets.items()
        }


def division_of(incarnation: str, count: int) -> int:
    return partition(incarnation.encode(), count)


def count_divisions(ends: TopicOffsets, topics: Iterable[Topic[Any]], shards: int) -> int:
    """Return into how many divisions these topics and so many shards fall."""
    return gcd(shards, *(len(ends[topic.name]) for topic in topics))


class ReplayWork(BaseModel):
    """Work of a running replay, published for every process that takes part.

    `starts` and `ends`: which records to read. `undivided`: incarnations of namespaces that lie in several divisions;
    their memories depend on each other, so the starter of the replay projects them when all divisions are filled.
    """

    model_config = ConfigDict(frozen=True)

    replay_id: str
    generation: Generation
    request: ReplayRequest
    divisions: int
    starts: TopicOffsets
    ends: TopicOffsets
    undivided: frozenset[str]


class DivisionReport(BaseModel):
    """Progress in one division: offsets read so far, and by which process."""

    replay_id: str
    worker: str
    read: int = 0
    is_filled: bool = False


def incarnations_across_divisions(namespaces: Iterable[Iterable[str]], count: int) -> frozenset[str]:
    return frozenset(
        incarnation
        for incarnations in map(list, namespaces)
        if len({division_of(incarnation, count) for incarnation in incarnations}) > 1
        for incarnation in incarnations
    )


def partitions_of(incarnations: Iterable[str], ends: Mapping[int, int]) -> dict[int, int]:
    wanted = {partition(incarnation.encode(), len(ends)) for incarnation in incarnations}
    return {number: end for number, end in ends.items() if number in wanted}
