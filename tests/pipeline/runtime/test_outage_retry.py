"""Background work outlives outages, and only these."""

from collections.abc import Awaitable, Callable

import pytest

from pipeline.errors import OutageError
from pipeline.runtime.outage_retry import MAX_PAUSE_SECONDS, run_through_outages

pytestmark = pytest.mark.anyio


class RecordedPauses:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


def failing_with(*errors: Exception) -> Callable[[], Awaitable[None]]:
    """Return work that raises these errors one after the other and then ends."""
    left = list(errors)

    async def work() -> None:
        if left:
            raise left.pop(0)

    return work


async def test_work_begins_again_after_outages_with_growing_pauses() -> None:
    pauses = RecordedPauses()
    await run_through_outages("Work", failing_with(*[OutageError("the broker is away")] * 6), pauses.sleep)
    assert pauses.seconds == [0.5, 1.0, 2.0, 4.0, MAX_PAUSE_SECONDS, MAX_PAUSE_SECONDS]


async def test_an_outage_of_a_task_of_the_work_is_an_outage_of_the_work() -> None:
    pauses = RecordedPauses()
    await run_through_outages("Work", failing_with(ExceptionGroup("tasks", [OutageError("away")])), pauses.sleep)
    assert len(pauses.seconds) == 1


@pytest.mark.parametrize("error", [LookupError("a defect"), ExceptionGroup("tasks", [OutageError("away"), KeyError()])])
async def test_a_defect_ends_the_work(error: Exception) -> None:
    with pytest.raises(type(error)):
        await run_through_outages("Work", failing_with(error), RecordedPauses().sleep)
