"""Background work that outlives outages of the log and of the tables."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from pipeline.errors import RetryableError
from pipeline.runtime.backoff import exponential_backoff

INITIAL_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 5.0
STEADY_SECONDS = 60.0
"""Work that ran this long begins its pauses anew."""
log = logging.getLogger(__name__)


async def run_through_outages(
    name: str, work: Callable[[], Awaitable[None]], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Run the work; after a failure that may pass, run it again after a pause."""
    loop = asyncio.get_running_loop()
    attempt = 0
    while True:
        started = loop.time()
        try:
            await work()
        except (RetryableError, OSError, ExceptionGroup) as error:
            if isinstance(error, ExceptionGroup) and error.split((RetryableError, OSError))[1] is not None:
                raise
            attempt = 1 if loop.time() - started > STEADY_SECONDS else attempt + 1
            pause = exponential_backoff(INITIAL_PAUSE_SECONDS, attempt, MAX_PAUSE_SECONDS)
            log.warning("%s stopped and begins again in %.1f s: %s", name, pause, error)
            await sleep(pause)
        else:
            return


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most this long; return whether it is set."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
