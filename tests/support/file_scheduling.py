"""Which worker runs which file of tests."""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parents[2]
_BROKER_FIXTURES = ("kafka: LocalBroker", "kafka_harness: KafkaHarness")
"""How a test asks for the broker of its worker, or one of both."""


class BrokerSharingScheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """A file at a time, and the files of a folder that need a broker as if they were one.

    A broker takes three seconds of CPU to start, and a thirtieth of a core while nobody asks it anything.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        if not _needs_broker(file):
            return file
        return "Kafka, several processes" if file.startswith("tests/e2e/") else "Kafka, one process"


@cache
def _needs_broker(file: str) -> bool:
    text = (ROOT / file).read_text()
    return any(fixture in text for fixture in _BROKER_FIXTURES)
