"""Faults while histories run: processes that are killed and started again, and processes or a broker that pause."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.history_checker.deployment import Deployment

FAULT_INTERVAL_SECONDS = 2.0
"""Mean time from the end of a fault to the next one; longer where a start takes longer."""
FIRST_FAULT_SECONDS = 0.5
KILLS_OF_FAULTS = 0.4
LONG_PAUSES = 0.25
"""Share of pauses that last longer than a session: the group takes the partitions of a process that then goes on."""
SHORT_PAUSE_SECONDS = (0.1, 2.0)
LONG_PAUSE_SECONDS = (7.0, 9.0)


@dataclass(slots=True)
class FaultCounts:
    """Faults so far."""

    kills: int = 0
    pauses: int = 0


@contextmanager
def random_faults(deployment: Deployment, seed: int, interval: float = FAULT_INTERVAL_SECONDS) -> Iterator[FaultCounts]:
    """Have one fault after the other until the block ends; everything runs then."""
    counts = FaultCounts()
    ended = threading.Event()

    def run_faults() -> None:
        choice = random.Random(seed)
        wait = FIRST_FAULT_SECONDS
        while not ended.wait(wait):
            took = _random_fault(deployment, choice, counts)
            # At least as long as a start took: a busy machine would do nothing but start.
            wait = choice.uniform(0.5, 1.5) * max(interval, took)

    thread = threading.Thread(target=run_faults)
    thread.start()
    try:
        yield counts
    finally:
        ended.set()
        thread.join()


def _random_fault(deployment: Deployment, choice: random.Random, counts: FaultCounts) -> float:
    """Kill a process and start it again, or pause one; returns the seconds that a start took."""
    if choice.random() < KILLS_OF_FAULTS:
        server = choice.choice(deployment.servers)
        server.kill()
        counts.kills += 1
        return server.start()
    pids = [server.pid for server in deployment.servers]
    pid = choice.choice(pids if deployment.broker_pid is None else [*pids, deployment.broker_pid])
    is_long = choice.random() < LONG_PAUSES
    os.kill(pid, signal.SIGSTOP)
    try:
        threading.Event().wait(choice.uniform(*(LONG_PAUSE_SECONDS if is_long else SHORT_PAUSE_SECONDS)))
    finally:
        os.kill(pid, signal.SIGCONT)
    counts.pauses += 1
    return 0.0
