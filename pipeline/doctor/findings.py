"""What an examination finds, and how one is carried out: nothing it meets ends it."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pipeline.errors import DataDirectoryLockedError, RejectedError, RetryableError
from pipeline.store import StoreMismatchError

State = Literal["ok", "warning", "problem"]
SECONDS = 20.0
"""For one part, at most: what takes longer does not answer."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How a part is. `do`: what to do about it; nothing where it is well."""

    part: str
    state: State
    says: str
    do: str = ""


Found = tuple[State, str, str]
"""State, what there is to say, and what to do."""
Check = Callable[[], Awaitable[list[Found]]]


def well(says: str) -> Found:
    """Nothing to do."""
    return "ok", says, ""


async def examined(checks: Mapping[str, Check], seconds: float = SECONDS) -> AsyncIterator[Finding]:
    """What each part shows, one after the other; a part that fails on being looked at is a problem."""
    for part, check in checks.items():
        for state, says, do in await _found(check, seconds):
            yield Finding(part, state, says, do)


async def _found(check: Check, seconds: float) -> list[Found]:
    try:
        async with asyncio.timeout(seconds):
            return await check()
    except TimeoutError:
        return [
            (
                "problem",
                f"It does not answer within {seconds:.0f} s.",
                "See whether it runs, and the way to it.",
            )
        ]
    except (
        OSError,
        ValueError,
        sqlite3.Error,
        RetryableError,
        RejectedError,
        StoreMismatchError,
        DataDirectoryLockedError,
    ) as error:
        return [("problem", str(error) or repr(error), "What it says names what to change.")]
