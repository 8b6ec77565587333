"""`make jepsen`: histories of many clients on both buses, with and without faults, judged against the log."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.history_checker.deployment import Deployment, embedded_deployment, kafka_deployment
from bench.history_checker.faults import FAULT_INTERVAL_SECONDS, random_faults
from bench.history_checker.history import History
from bench.history_checker.judge import Verdict, judge
from bench.history_checker.log_collector import collected_submissions
from bench.history_checker.service_progress import ServiceProgress
from bench.history_checker.workload import HistoryRunner, Size, open_client

CONCURRENT_HISTORIES = 16
"""So many share commits and waits, and a fault meets all of them. More make two busy cores refuse requests."""
BATCHES = 2
"""Rounds of concurrent histories between two looks at the log, after which problems are told."""
LOGGED_LINES = 40
"""Warnings of each process that are printed after a problem."""
OPERATIONS_WITH_FAULTS = 30
"""Operations of a client with faults: so many that faults meet requests, not only what follows them."""

OPENED = {"embedded": embedded_deployment, "kafka": kafka_deployment}


@dataclass(slots=True)
class Report:
    """Sums over the histories of one bus."""

    bus: str
    with_faults: bool
    histories: int = 0
    operations: int = 0
    repeated: int = 0
    kills: int = 0
    pauses: int = 0
    stale: int = 0
    verdict: Verdict = field(default_factory=Verdict)

    def add(self, history: History, verdict: Verdict) -> None:
        """Count a judged history."""
        self.histories += 1
        self.operations += len(history.operations)
        self.repeated += sum(operation.attempts > 1 for operation in history.operations)
        self.stale += sum(sight.is_stale for operation in history.operations for sight in operation.sights)
        self.verdict.extend(verdict)

    def extend(self, other: "Report") -> None:
        """Add the sums over other histories."""
        self.histories += other.histories
        self.operations += other.operations
        self.repeated += other.repeated
        self.kills += other.kills
        self.pauses += other.pauses
        self.stale += other.stale
        self.verdict.extend(other.verdict)

    def line(self) -> str:
        """Print a line of the table."""
        verdict = self.verdict
        return (
            f"| {self.bus}{', with faults' if self.with_faults else ''} | {self.histories} | {self.operations} |"
            f" {self.repeated} | {self.kills} | {self.pauses} | {self.stale} |"
            f" {len(verdict.lost)} | {len(verdict.doubled)} | {len(verdict.stuck)} | {len(verdict.went_back)} |"
        )


HEAD = (
    "| bus | histories | operations | repeated | kills | pauses | reads said to be stale |"
    " lost | doubled | stuck | reads going back |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def check_histories(
    deployment: Deployment,
    seeds: Sequence[int],
    *,
    with_faults: bool = False,
    size: Size | None = None,
    fault_interval: float = FAULT_INTERVAL_SECONDS,
    concurrent: int = CONCURRENT_HISTORIES,
) -> Report:
    """Run a history for each seed, some at a time, and judge them against the log."""
    report = Report(deployment.name, with_faults)
    prefix = f"h{time.time_ns() // 1000:x}"

    with ExitStack() as stack:
        collector = stack.enter_context(collected_submissions(deployment))
        threads = stack.enter_context(ThreadPoolExecutor(concurrent))
        clients = [stack.enter_context(open_client(deployment.key)) for _ in range(min(concurrent, len(seeds)))]
        progress = ServiceProgress(deployment.urls[0], stack.enter_context(open_client(deployment.key)))
        runners = [
            HistoryRunner(
                deployment.urls,
                clients[number % concurrent],
                progress,
                namespace=f"{prefix}-{seed}",
                seed=seed,
                size=size or Size(),
            )
            for number, seed in enumerate(seeds)
        ]
        if with_faults:
            with random_faults(deployment, seeds[0], fault_interval) as faults:
                list(threads.map(HistoryRunner.run, runners))
            report.kills, report.pauses = faults.kills, faults.pauses
        list(threads.map(HistoryRunner.settle if with_faults else HistoryRunner.run_and_settle, runners))
    # After the block: the collector has read the whole log then.
    for history in (runner.history for runner in runners):
        report.add(history, judge(history, collector.by_namespace.get(history.namespace, [])))
    return report


def _check_until(
    name: str, seeds: range, deadline: float, *, with_faults: bool, concurrent: int = CONCURRENT_HISTORIES
) -> Report:
    """Check batch after batch, tell each one's problems at once, and begin none after the deadline."""
    report = Report(name, with_faults)
    size = Size(operations=OPERATIONS_WITH_FAULTS) if with_faults else Size()
    batch_size = BATCHES * concurrent
    with (
        tempfile.TemporaryDirectory(prefix="recollect-histories-") as folder,
        OPENED[name](Path(folder)) as service,
    ):
        for start in range(0, len(seeds), batch_size):
            if time.monotonic() > deadline:
                break
            batch = seeds[start : start + batch_size]
            checked = check_histories(service, batch, with_faults=with_faults, size=size, concurrent=concurrent)
            report.extend(checked)
            print(
                f"seeds {batch[0]} to {batch[-1]}, load {os.getloadavg()[0]:.0f}",
                report.line(),
                *checked.verdict.problems,
                sep="\n",
                file=sys.stderr,
                flush=True,
            )
            if checked.verdict.problems:
                _print_logs(service)
    return report


def _print_logs(deployment: Deployment) -> None:
    """Print the last warnings of every process, whose logs go with the data."""
    for output in {server.output for server in deployment.servers}:
        lines = output.read_text(errors="replace").splitlines()
        warnings = [line for line in lines if line.startswith(("WARNING", "ERROR"))]
        print(output.name, *warnings[-LOGGED_LINES:], sep="\n  ", file=sys.stderr, flush=True)


def main() -> None:
    """Run the histories that are asked for; exit 1 if any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=200, help="of each bus")
    parser.add_argument("--with-faults", type=int, default=20, help="histories of each bus with faults")
    parser.add_argument("--bus", choices=OPENED, help="one bus only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--concurrent", type=int, default=CONCURRENT_HISTORIES, help="histories at a time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further histories after these")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    reports = []
    for name in [options.bus] if options.bus else OPENED:
        for count, with_faults in ((options.histories, False), (options.with_faults, True)):
            seeds = range(options.seed, options.seed + count)
            if count:
                reports.append(
                    _check_until(name, seeds, deadline, with_faults=with_faults, concurrent=options.concurrent)
                )
    print(HEAD, *(report.line() for report in reports), sep="\n")
    problems = [problem for report in reports for problem in report.verdict.problems]
    print(*problems, sep="\n")
    if problems:
        sys.exit(f"{len(problems)} problems.")


if __name__ == "__main__":
    main()
