"""Helpers of commands that run a part of the service in their own process."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from app.cli.conventions import ExitCode, error_exit
from app.process_tuning import tune_process
from pipeline.errors import DataDirectoryLockedError, OutageError
from pipeline.settings import Settings


def apply_process_tuning(settings: Settings) -> None:
    """Tune the process, unless the settings turn it off; must precede the import of the frameworks."""
    if settings.process_tuning:
        tune_process()


def run_event_loop(settings: Settings, main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine on the event loop that the settings choose."""
    from pipeline.runtime.fair_event_loop import new_fair_event_loop  # noqa: PLC0415 - after tuning

    with asyncio.Runner(loop_factory=partial(new_fair_event_loop, fair=settings.fair_event_loop)) as runner:
        runner.run(main)


@contextmanager
def exit_on_startup_error() -> Iterator[None]:
    """Turn errors of opening the data into a message and an exit code."""
    from pipeline.store import StoreMismatchError  # noqa: PLC0415 - see apply_process_tuning

    try:
        yield
    except (DataDirectoryLockedError, StoreMismatchError, ValueError) as error:
        raise error_exit(str(error)) from error
    except OutageError as error:
        hint = "`recollect doctor` checks every component."
        raise error_exit(f"{error}\n{hint}", ExitCode.UNREACHABLE) from error
