"""Assignor that gives a member all partitions of a topic that fill the same shards of the tables."""

from collections.abc import Mapping
from math import gcd

from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata


def shard_assignor(shards: int) -> type[RangePartitionAssignor]:
    """Return an assignor by ranges of the partitions ordered by shard.

    Partition and shard of an incarnation are remainders of one hash, so with a common divisor *d* of both numbers all
    partitions with the same remainder by *d* fill the same shards. A member that gets these partitions together is
    the only writer of their shards: it waits for no lock, and what it wrote is still what the shard holds.
    """

    class ShardAssignor(RangePartitionAssignor):  # type: ignore[misc]  # aiokafka has no types
        # It keeps the name `range`, so that members of earlier versions share the group: the leader's order counts.
        # aiokafka 0.14 can't offer two names: it joins once for each, and every join ends that of the other members.

        @classmethod
        def assign(
            cls, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
        ) -> dict[str, ConsumerProtocolMemberAssignment]:
            ranges = super().assign(cluster, members)
            return {
                member: ConsumerProtocolMemberAssignment(
                    cls.version,
                    [
                        (topic, partitions_by_shard(len(cluster.partitions_for_topic(topic)), shards, places))
                        for topic, places in assigned.assignment
                    ],
                    b"",
                )
                for member, assigned in ranges.items()
            }

    return ShardAssignor


def partitions_by_shard(partitions: int, shards: int, places: list[int]) -> list[int]:
    """Return the partitions at these places, in ascending order, of all partitions ordered by shard.

    >>> partitions_by_shard(16, 4, [0, 1, 2, 3])
    [0, 4, 8, 12]
    >>> partitions_by_shard(6, 4, [0, 1, 2])
    [0, 2, 4]
    """
    divisor = gcd(partitions, shards)
    ordered = sorted(range(partitions), key=lambda number: (number % divisor, number))
    return sorted(ordered[place] for place in places)
