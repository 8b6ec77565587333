"""The assignor gives every partition one owner, and a shard one writer where the members suffice."""

from math import gcd

from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from aiokafka.structs import PartitionMetadata
from hypothesis import given
from hypothesis import strategies as st

from pipeline.bus.kafka.shard_assignor import shard_assignor

_TOPICS = {"documents": 16, "chunks": 16, "settings": 1}


def _assigned(topics: dict[str, int], shards: int, members: int) -> dict[str, dict[str, list[int]]]:
    """The partitions of each topic that each member gets."""
    cluster = ClusterMetadata()
    cluster._partitions = {
        topic: {number: PartitionMetadata(topic, number, 0, [0], [0], None) for number in range(partitions)}
        for topic, partitions in topics.items()
    }
    metadata = {f"member{number}": ConsumerProtocolMemberMetadata(0, list(topics), b"") for number in range(members)}
    assigned = shard_assignor(shards).assign(cluster, metadata)
    return {member: dict(assignment.assignment) for member, assignment in assigned.items()}


@given(partitions=st.integers(1, 40), shards=st.integers(1, 40), members=st.integers(1, 12))
def test_every_partition_has_one_owner_and_shares_differ_by_one_at_most(
    partitions: int, shards: int, members: int
) -> None:
    owned = [topics.get("documents", []) for topics in _assigned({"documents": partitions}, shards, members).values()]
    assert sorted(number for numbers in owned for number in numbers) == list(range(partitions))
    assert max(map(len, owned)) - min(map(len, owned)) <= 1


@given(log=st.integers(0, 4), shards=st.integers(1, 16), members=st.integers(1, 16))
def test_a_shard_has_one_writer_if_the_members_divide_the_shards(log: int, shards: int, members: int) -> None:
    divisor = gcd(2**log, shards)
    if divisor % members:
        return
    shards_of = [
        {number % divisor for number in topics["documents"]}
        for topics in _assigned({"documents": 2**log}, shards, members).values()
    ]
    assert sum(map(len, shards_of)) == len(set().union(*shards_of)) == divisor


def test_a_member_gets_the_same_partitions_of_all_topics() -> None:
    for topics in _assigned(_TOPICS, 4, 3).values():
        assert topics["documents"] == topics["chunks"]
