"""Short form of `make jepsen`: clients that change and read a few documents at once, judged against the log."""

from pathlib import Path

import pytest

from bench.history_checker.__main__ import check_histories
from bench.history_checker.deployment import embedded_deployment, running_processes
from bench.history_checker.workload import Size
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = pytest.mark.slow
LONG = Size(operations=30)
"""Long enough for a process to be killed and to come back meanwhile."""


def test_on_the_embedded_log_nothing_is_lost_doubled_stuck_or_seen_going_back(tmp_path: Path) -> None:
    with embedded_deployment(tmp_path) as service:
        assert check_histories(service, range(4)).verdict.problems == []
        faulty = check_histories(service, range(4, 8), with_faults=True, size=LONG, fault_interval=0.5)
        assert faulty.kills + faulty.pauses
        assert faulty.verdict.problems == []


@pytest.mark.kafka
def test_on_kafka_nothing_is_lost_doubled_stuck_or_seen_going_back(
    own_kafka: LocalBroker | DockerBroker, tmp_path: Path
) -> None:
    with running_processes(tmp_path, own_kafka.bootstrap) as service:
        report = check_histories(service, range(4))
        assert report.verdict.problems == []
