"""Stand-ins for the services of `app` that requests use: they have nothing to do, and refuse to begin."""

from collections.abc import Awaitable, Callable, Collection
from typing import NoReturn

from pipeline.erasure.erasure_report import ErasureUnsupportedError
from pipeline.store.generations.replay_request import ReplayError, ReplayProgress, ReplayRequest

_REFUSED = "Nothing is done in this test."


class IdleReplays:
    """Replays of which none ever runs."""

    progress = ReplayProgress()

    async def latest_progress(self) -> ReplayProgress:
        return self.progress

    async def plan(self, order: ReplayRequest) -> NoReturn:
        raise ReplayError(_REFUSED)

    def start(self, order: ReplayRequest) -> None:
        raise ReplayError(_REFUSED)

    def roll_back(self) -> None:
        raise ReplayError(_REFUSED)

    async def clean_up(self) -> NoReturn:
        raise ReplayError(_REFUSED)

    async def cancel(self) -> None:
        """Do nothing: none runs."""


class NoErasures:
    """Erasures of a log that supports none."""

    def require_support(self) -> NoReturn:
        raise ErasureUnsupportedError(_REFUSED)

    async def plan(self, documents: Collection[tuple[str, str]], incarnations: Collection[str]) -> NoReturn:
        self.require_support()

    async def erase_now(self, delete: Callable[[], Awaitable[object]] | None = None) -> NoReturn:
        self.require_support()
