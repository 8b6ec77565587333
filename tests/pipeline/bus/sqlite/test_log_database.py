"""Offsets of the log after any sequence of appends, removals and restarts."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import ProducerRecord
from pipeline.bus.sqlite.log_database import LogDatabase
from pipeline.bus.sqlite.log_reader import LogReader

append = st.tuples(st.sampled_from(["a.v1", "b.v1"]), st.lists(st.binary(max_size=2), max_size=20))
remove = st.tuples(st.sampled_from(["a.v1", "b.v1"]), st.integers(0, 1), st.sets(st.integers(0, 40)))
step = st.one_of(append, remove, st.just("reopen"))


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(step, max_size=12))
def test_offsets_are_assigned_once_and_in_order(steps: list[object]) -> None:
    assigned: dict[TopicPartition, list[int]] = defaultdict(list)
    expected: dict[TopicPartition, dict[int, bytes]] = defaultdict(dict)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        database = LogDatabase(path, 2)
        for action in steps:
            match action:
                case (str(topic), list(keys)):
                    _append(database, topic, keys, assigned, expected)
                case (str(topic), int(partition), set(removed)):
                    database.commit([lambda log: log.remove(topic, partition, removed)], {})
                    for offset in removed:
                        expected[topic, partition].pop(offset, None)
                case _:
                    database.close()
                    database = LogDatabase(path, 2)
        reader = LogReader(path)
        for topic_partition, offsets in assigned.items():
            assert offsets == list(range(len(offsets)))
            found = {record.offset: record.key for record in reader.read(*topic_partition, 0, 1000)}
            assert found == expected[topic_partition]
        reader.close()
        database.close()


def _append(
    database: LogDatabase,
    topic: str,
    keys: list[bytes],
    assigned: dict[TopicPartition, list[int]],
    expected: dict[TopicPartition, dict[int, bytes]],
) -> None:
    entries = [ProducerRecord(key, b"", {}) for key in keys]
    (positions,) = database.commit([lambda log: log.append(topic, 0, entries)], {}).results
    for key, position in zip(keys, positions, strict=True):
        assert position.partition == database.partition_for(key)
        assigned[topic, position.partition].append(position.offset)
        expected[topic, position.partition][position.offset] = key
