"""Waiting for what happens in another process: asked again and again, within a bound."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from supermemory import Supermemory

from tests.patience import PATIENCE

T = TypeVar("T")


def until(ask: Callable[[], T], good: Callable[[T], bool], what: str) -> T:
    """The first answer that is good; fails with the last one otherwise."""
    deadline = time.monotonic() + PATIENCE
    answer = ask()
    while not good(answer):
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE:.0f} s: {answer}"
        time.sleep(0.05)
        answer = ask()
    return answer


def until_done(client: Supermemory, namespace: str, document: str, *, memories: bool = False) -> Any:
    """The document when it can be found, and if wanted when its memories are formed."""

    def done(found: Any) -> bool:
        assert found.system.status != "failed", f"{document} failed"
        return found.system.status == "done" and (not memories or found.system.dreaming_status == "done")

    return until(lambda: client.documents.get(namespace, document), done, f"{document} done")
