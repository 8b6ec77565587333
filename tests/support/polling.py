"""Waiting for what happens in another process: asked again and again, within a bound."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from supermemory import Supermemory

from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

T = TypeVar("T")


def poll_until(get: Callable[[], T], condition: Callable[[T], bool], description: str) -> T:
    """The first answer that is good; fails with the last one otherwise.

    Asked for a fifth of the time: what is waited for needs the processor that the questions take.
    """
    asked = time.monotonic()
    deadline = asked + WAIT_TIMEOUT_SECONDS
    answer = get()
    while not condition(answer):
        assert time.monotonic() < deadline, (
            f"{description} did not happen within {WAIT_TIMEOUT_SECONDS:.0f} s: {answer}"
        )
        time.sleep(max(0.05, 4 * (time.monotonic() - asked)))
        asked = time.monotonic()
        answer = get()
    return answer


def wait_document_done(client: Supermemory, namespace: str, document: str, *, memories: bool = False) -> Any:
    """The document when it can be found, and if wanted when its memories are formed."""

    def done(found: Any) -> bool:
        assert found.system.status != "failed", f"{document} failed"
        return found.system.status == "done" and (not memories or found.system.dreaming_status == "done")

    return poll_until(lambda: client.documents.get(namespace, document), done, f"{document} done")
