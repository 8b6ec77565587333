"""Faults of `make chaos` in short: what was acknowledged is there once, the rest has a reason."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.chaos import embedded_faults, kafka_faults
from bench.chaos.embedded_faults import Trial, TrialNotSupportedError
from bench.chaos.fault_trial import TrialOutcome

pytestmark = pytest.mark.slow
PAUSE = 0.25
"""Seconds between two documents of a writer: enough arrive during the fault, and few are pending at its end."""
BROUGHT_BACK = {"corrupt": 1, "missing": 1, "kafka-poison": 1, "kafka-corrupt": 1}


def _tried(trial: Trial, folder: Path) -> TrialOutcome:
    try:
        return trial(folder, True)
    except TrialNotSupportedError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("fault", embedded_faults.TRIALS)
def test_nothing_acknowledged_is_lost_or_there_twice(fault: str, tmp_path: Path) -> None:
    outcome = _tried(embedded_faults.TRIALS[fault], tmp_path)
    assert outcome.acknowledged > 0
    assert (outcome.lost, outcome.duplicates) == (0, 0), outcome
    assert outcome.redelivered == BROUGHT_BACK.get(fault, 0)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka_faults.KafkaDeployment]:
    """Start a deployment for all trials."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(kafka_faults.start_deployment(tmp_path_factory.mktemp("chaos"), PAUSE))
        except TrialNotSupportedError as error:
            pytest.skip(str(error))
        yield started


@pytest.mark.kafka
@pytest.mark.parametrize("fault", kafka_faults.ALWAYS)
def test_nothing_acknowledged_is_lost_or_there_twice_on_kafka(
    fault: str, service: kafka_faults.KafkaDeployment
) -> None:
    outcome = kafka_faults.TRIALS[fault](service, True)
    assert outcome.acknowledged > 0
    assert (outcome.lost, outcome.duplicates) == (0, 0), outcome
    assert outcome.redelivered == BROUGHT_BACK.get(fault, 0)
