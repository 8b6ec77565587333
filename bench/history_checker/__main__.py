"""`make jepsen`: histories of many clients on both buses, with and without kills, judged against the log."""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.history_checker.deployment import Deployment, embedded_deployment, kafka_deployment
from bench.history_checker.history import History
from bench.history_checker.judge import Verdict, judge
from bench.history_checker.log_collector import collected_submissions
from bench.history_checker.workload import HistoryRunner, Size, open_client

CONCURRENT_HISTORIES = 16
"""So many share commits and waits, and a kill meets all of them. More make two busy cores refuse requests."""
KILL_INTERVAL_SECONDS = 2.0
"""Mean time from the restart of a process to the next kill; longer where the start takes longer."""
FIRST_KILL_SECONDS = 0.5
BATCHES = 2
"""Rounds of concurrent histories between two looks at the log, after which problems are told."""
OPERATIONS_WITH_KILLS = 30
"""Operations of a client while processes are killed: so many that kills meet requests, not only what follows them."""


OPENED = {"embedded": embedded_deployment, "kafka": kafka_deployment}


@dataclass(slots=True)
class Report:
    """Sums over the histories of one bus."""

    bus: str
    with_kills: bool
    histories: int = 0
    operations: int = 0
    repeated: int = 0
    kills: int = 0
    verdict: Verdict = field(default_factory=Verdict)

    def add(self, history: History, verdict: Verdict) -> None:
        """Count a judged history."""
        self.histories += 1
        self.operations += len(history.operations)
        self.repeated += sum(operation.attempts > 1 for operation in history.operations)
        self.verdict.extend(verdict)

    def extend(self, other: "Report") -> None:
        """Add the sums over other histories."""
        self.histories += other.histories
        self.operations += other.operations
        self.repeated += other.repeated
        self.kills += other.kills
        self.verdict.extend(other.verdict)

    def line(self) -> str:
        """Print a line of the table."""
        verdict = self.verdict
        return (
            f"| {self.bus}{', with kills' if self.with_kills else ''} | {self.histories} | {self.operations} |"
            f" {self.repeated} | {self.kills} | {len(verdict.lost)} | {len(verdict.doubled)} | {len(verdict.stuck)} |"
            f" {len(verdict.went_back)} |"
        )


HEAD = (
    "| bus | histories | operations | repeated | kills | lost | doubled | stuck | reads going back |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def check_histories(
    deployment: Deployment,
    seeds: Sequence[int],
    *,
    with_kills: bool = False,
    size: Size | None = None,
    kill_interval: float = KILL_INTERVAL_SECONDS,
    concurrent: int = CONCURRENT_HISTORIES,
) -> Report:
    """Run a history for each seed, some at a time, and judge them against the log."""
    report = Report(deployment.name, with_kills)
    prefix = f"h{time.time_ns() // 1000:x}"

    with ExitStack() as stack:
        collector = stack.enter_context(collected_submissions(deployment))
        threads = stack.enter_context(ThreadPoolExecutor(concurrent))
        clients = [stack.enter_context(open_client(deployment.key)) for _ in range(min(concurrent, len(seeds)))]
        runners = [
            HistoryRunner(deployment.urls, clients[number % concurrent], f"{prefix}-{seed}", seed, size or Size())
            for number, seed in enumerate(seeds)
        ]
        if with_kills:
            with _kills(deployment, kill_interval) as killed:
                list(threads.map(HistoryRunner.run, runners))
            report.kills = next(killed)
        list(threads.map(HistoryRunner.settle if with_kills else HistoryRunner.run_and_settle, runners))
    # After the block: the collector has read the whole log then.
    for history in (runner.history for runner in runners):
        report.add(history, judge(history, collector.by_namespace.get(history.namespace, [])))
    return report


@contextmanager
def _kills(deployment: Deployment, interval: float) -> Iterator[Iterator[int]]:
    """Kill and restart one process after the other until the block ends; yields the number of kills."""
    count = 0
    ended = threading.Event()
    choice = random.Random(17)

    def kill_in_turn() -> None:
        nonlocal count
        pause = FIRST_KILL_SECONDS
        while not ended.wait(pause):
            server = choice.choice(deployment.servers)
            server.kill()
            started_in = server.start()
            count += 1
            # At least as long as the start took: a busy machine would do nothing but start.
            pause = choice.uniform(0.5, 1.5) * max(interval, started_in)

    def counted() -> Iterator[int]:
        while True:
            yield count

    thread = threading.Thread(target=kill_in_turn)
    thread.start()
    try:
        yield counted()
    finally:
        ended.set()
        thread.join()


def _check_until(
    name: str, seeds: range, deadline: float, *, with_kills: bool, concurrent: int = CONCURRENT_HISTORIES
) -> Report:
    """Check batch after batch, tell each one's problems at once, and begin none after the deadline."""
    report = Report(name, with_kills)
    size = Size(operations=OPERATIONS_WITH_KILLS) if with_kills else Size()
    batch_size = BATCHES * concurrent
    with (
        tempfile.TemporaryDirectory(prefix="recollect-histories-") as folder,
        OPENED[name](Path(folder)) as service,
    ):
        for start in range(0, len(seeds), batch_size):
            if time.monotonic() > deadline:
                break
            batch = seeds[start : start + batch_size]
            checked = check_histories(service, batch, with_kills=with_kills, size=size, concurrent=concurrent)
            report.extend(checked)
            print(
                f"seeds {batch[0]} to {batch[-1]}, load {os.getloadavg()[0]:.0f}",
                report.line(),
                *checked.verdict.problems,
                sep="\n",
                file=sys.stderr,
                flush=True,
            )
    return report


def main() -> None:
    """Run the histories that are asked for; exit 1 if any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=200, help="of each bus")
    parser.add_argument("--with-kills", type=int, default=20, help="histories of each bus with kills")
    parser.add_argument("--bus", choices=OPENED, help="one bus only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--concurrent", type=int, default=CONCURRENT_HISTORIES, help="histories at a time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further histories after these")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    reports = []
    for name in [options.bus] if options.bus else OPENED:
        for count, with_kills in ((options.histories, False), (options.with_kills, True)):
            seeds = range(options.seed, options.seed + count)
            if count:
                reports.append(
                    _check_until(name, seeds, deadline, with_kills=with_kills, concurrent=options.concurrent)
                )
    print(HEAD, *(report.line() for report in reports), sep="\n")
    problems = [problem for report in reports for problem in report.verdict.problems]
    print(*problems, sep="\n")
    if problems:
        sys.exit(f"{len(problems)} problems.")


if __name__ == "__main__":
    main()
