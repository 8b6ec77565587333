"""Faults of `make chaos` in short: what was acknowledged is there once, the rest has a reason."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.chaos import embedded, kafka
from bench.chaos.embedded import NotHereError, Trial
from bench.chaos.trial import Outcome

pytestmark = pytest.mark.slow
PAUSE = 0.25
"""Between two documents of a writer: enough come in on the way, and few are left to wait for at the end."""
BROUGHT_BACK = {"corrupt": 1, "missing": 1, "kafka-poison": 1, "kafka-corrupt": 1}


def _tried(trial: Trial, folder: Path) -> Outcome:
    try:
        return trial(folder, True)
    except NotHereError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("fault", embedded.TRIALS)
def test_nothing_acknowledged_is_lost_or_there_twice(fault: str, tmp_path: Path) -> None:
    outcome = _tried(embedded.TRIALS[fault], tmp_path)
    assert outcome.acknowledged > 0
    assert (outcome.lost, outcome.duplicates) == (0, 0), outcome
    assert outcome.brought_back == BROUGHT_BACK.get(fault, 0)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka.Processes]:
    """One deployment for all of them."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(kafka.processes(tmp_path_factory.mktemp("chaos"), PAUSE))
        except NotHereError as error:
            pytest.skip(str(error))
        yield started


@pytest.mark.kafka
@pytest.mark.parametrize("fault", kafka.ALWAYS)
def test_nothing_acknowledged_is_lost_or_there_twice_on_kafka(fault: str, service: kafka.Processes) -> None:
    outcome = kafka.TRIALS[fault](service, True)
    assert outcome.acknowledged > 0
    assert (outcome.lost, outcome.duplicates) == (0, 0), outcome
    assert outcome.brought_back == BROUGHT_BACK.get(fault, 0)
