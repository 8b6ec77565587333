"""Runner of diagnostic checks: an error in a check becomes a finding."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from app.cli.local_process import DAMAGED_TABLES_REMEDY, table_damage
from pipeline.errors import DataDirectoryLockedError, OutageError, RejectedError, RetryableError
from pipeline.store import StoreMismatchError

CheckStatus = Literal["ok", "warning", "problem"]
_EXPECTED_ERRORS = (
    OSError,
    ValueError,
    RetryableError,
    RejectedError,
    StoreMismatchError,
    DataDirectoryLockedError,
)
CHECK_TIMEOUT_SECONDS = 20.0
"""Limit for the check of one component."""
UNREACHABLE_REMEDY = "Check that it runs, that this machine can reach it, and its settings."
UNREADABLE_FILE_REMEDY = "Check that this user may read the files of the data directory."
DAMAGED_FILE_REMEDY = "Stop the service, and put back the data directory from a backup."


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check of one component; `remedy` is empty if nothing is to be done."""

    component: str
    status: CheckStatus
    message: str
    remedy: str = ""


CheckResult = tuple[CheckStatus, str, str]
"""Status, message and remedy."""
Check = Callable[[], Awaitable[list[CheckResult]]]


def passed(message: str) -> CheckResult:
    return "ok", message, ""


async def run_checks(
    checks: Mapping[str, Check], timeout_seconds: float = CHECK_TIMEOUT_SECONDS
) -> AsyncIterator[Finding]:
    """Run checks one after the other; a check that fails or takes too long yields a problem."""
    for component, check in checks.items():
        for status, message, remedy in await _run_check(check, timeout_seconds):
            yield Finding(component, status, message, remedy)


async def _run_check(check: Check, timeout_seconds: float) -> list[CheckResult]:
    try:
        async with asyncio.timeout(timeout_seconds):
            return await check()
    except TimeoutError:
        message = f"No answer within {timeout_seconds:.0f} s."
        return [("problem", message, UNREACHABLE_REMEDY)]
    except RuntimeError as error:
        if (damage := table_damage(error)) is None:
            raise
        return [("problem", f"They can't be read: {damage}", DAMAGED_TABLES_REMEDY)]
    except sqlite3.OperationalError as error:
        return [("problem", str(error), UNREADABLE_FILE_REMEDY)]
    except sqlite3.DatabaseError as error:
        return [("problem", f"A file of the data directory is damaged: {error}", DAMAGED_FILE_REMEDY)]
    except OutageError as error:
        return [("problem", str(error), UNREACHABLE_REMEDY)]
    except _EXPECTED_ERRORS as error:
        return [("problem", str(error) or repr(error), "The message says what to change.")]
