"""Offsets of the log, whatever happens to it in which order."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.journal import Journal, Reader, Stream
from pipeline.records import Entry

append = st.tuples(st.sampled_from(["a.v1", "b.v1"]), st.lists(st.binary(max_size=2), max_size=20))
remove = st.tuples(st.sampled_from(["a.v1", "b.v1"]), st.integers(0, 1), st.sets(st.integers(0, 40)))
step = st.one_of(append, remove, st.just("reopen"))


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(step, max_size=12))
def test_offsets_are_given_out_once_and_in_order(steps: list[object]) -> None:
    given_out: dict[Stream, list[int]] = defaultdict(list)
    kept: dict[Stream, dict[int, bytes]] = defaultdict(dict)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        journal = Journal(path, 2)
        for one in steps:
            match one:
                case (str(topic), list(keys)):
                    _append(journal, topic, keys, given_out, kept)
                case (str(topic), int(partition), set(gone)):
                    journal.commit([lambda log: log.remove(topic, partition, gone)], {})
                    for offset in gone:
                        kept[topic, partition].pop(offset, None)
                case _:
                    journal.close()
                    journal = Journal(path, 2)
        reader = Reader(path)
        for stream, offsets in given_out.items():
            assert offsets == list(range(len(offsets)))
            found = {record.offset: record.key for record in reader.read(*stream, 0, 1000)}
            assert found == kept[stream]
        reader.close()
        journal.close()


def _append(
    journal: Journal,
    topic: str,
    keys: list[bytes],
    given_out: dict[Stream, list[int]],
    kept: dict[Stream, dict[int, bytes]],
) -> None:
    entries = [Entry(key, b"", {}) for key in keys]
    (places,) = journal.commit([lambda log: log.append(topic, 0, entries)], {}).results
    for key, place in zip(keys, places, strict=True):
        assert place.partition == journal.partition(key)
        given_out[topic, place.partition].append(place.offset)
        kept[topic, place.partition][place.offset] = key
