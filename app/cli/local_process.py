"""Helpers of commands that run a part of the service in their own process."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from app.cli.conventions import ExitCode, error_exit
from app.process_tuning import tune_process
from pipeline.errors import DamagedLogError, DataDirectoryLockedError, OutageError, SettingsError
from pipeline.runtime.durable_files import disk_failure, is_damage
from pipeline.settings import Settings

DAMAGED_TABLES_REMEDY = (
    "Stop the service, move the folder of the tables away, and build new ones with `recollect replay`: the log holds"
    " all of their content."
)


def apply_process_tuning(settings: Settings) -> None:
    """Tune the process, unless the settings turn it off; must precede the import of the frameworks."""
    if settings.process_tuning:
        tune_process()


def run_event_loop(settings: Settings, main: Coroutine[Any, Any, None]) -> None:
    from pipeline.runtime.fair_event_loop import new_fair_event_loop  # noqa: PLC0415 - after tuning

    plain_aiokafka = settings.kafka_bootstrap is not None and not settings.kafka_paced_reconnects
    new_loop = partial(new_fair_event_loop, fair=settings.fair_event_loop, plain_aiokafka=plain_aiokafka)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main)


@contextmanager
def exit_on_startup_error() -> Iterator[None]:
    """Turn errors of opening the data into a message and an exit code."""
    from pipeline.store import StoreMismatchError  # noqa: PLC0415 - see apply_process_tuning

    try:
        yield
    except SettingsError as error:
        raise error_exit(str(error), ExitCode.USAGE) from error
    except (DataDirectoryLockedError, StoreMismatchError, ValueError) as error:
        raise error_exit(str(error)) from error
    except OutageError as error:
        hint = "`recollect doctor` checks every component."
        raise error_exit(f"{error}\n{hint}", ExitCode.UNREACHABLE) from error
    except (OSError, RuntimeError, sqlite3.Error) as error:
        message = _startup_message(error)
        if message is None:
            raise
        raise error_exit(message) from error


def _startup_message(error: Exception) -> str | None:
    """Say what to do about a disk that refuses to be written, or holds damaged files; None for any other error."""
    if (refusal := disk_failure(error)) is not None:
        return (
            f"The data directory can't be written: {refusal}. Free space on its disk, or see that this user may write"
            " there, and start again: nothing acknowledged is lost."
        )
    if (damage := table_damage(error)) is not None:
        return f"The tables can't be read: {damage}. {DAMAGED_TABLES_REMEDY}"
    if isinstance(error, DamagedLogError):
        return str(error)
    if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
        return f"A file beside the tables is damaged: {error}. {DAMAGED_TABLES_REMEDY}"
    return None


def table_damage(error: Exception) -> str | None:
    """Return what LanceDB can't read of its files, if that is the error.

    >>> table_damage(RuntimeError("lance error: LanceError(IO): failed to fill whole buffer, src/io/reader.rs:5"))
    'LanceError(IO): failed to fill whole buffer, src/io/reader.rs:5'
    """
    _, found, damage = str(error).partition("lance error: ")
    return " ".join(damage.split()) if found and isinstance(error, RuntimeError | ValueError) else None
