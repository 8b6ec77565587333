"""`make chaos`: one fault after the other, and a table of what came of each."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.chaos import embedded_faults, kafka_faults
from bench.chaos.embedded_faults import TrialNotSupportedError
from bench.chaos.fault_trial import TrialOutcome
from bench.result_tables import machine_description, replace_section

TRIALS = [*embedded_faults.TRIALS, *kafka_faults.TRIALS]
PAGE = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
PLACES = {"chaos": embedded_faults.TRIALS.keys(), "chaos-kafka": kafka_faults.TRIALS.keys()}
"""Sections of the results page with their trials."""
HEAD = "| fault | acknowledged | refused meanwhile | recovery | |\n|---|---:|---|---:|---|"


def main() -> None:
    """Run the trials that are named, or all; exit 1 if anything was lost or is there twice."""
    options = _options()
    outcomes: dict[str, TrialOutcome] = {}
    left_out: list[str] = []
    with ExitStack() as stack:
        trials = _Trials(stack, short=options.short)
        for name in options.faults or TRIALS:
            print(f"… {name}", file=sys.stderr, flush=True)
            try:
                outcomes[name] = trials.outcome(name)
            except TrialNotSupportedError as error:
                left_out.append(f"Left out: {name}, which {error}.")
                continue
            print(row(outcomes[name]), file=sys.stderr, flush=True)
    for place, names in PLACES.items():
        if selected := [outcome for name, outcome in outcomes.items() if name in names]:
            result = "\n".join([_describe_run(short=options.short), "", table(selected)])
            print(result)
            if options.write:
                replace_section(PAGE, result, f"<!-- {place} -->", f"<!-- /{place} -->")
    print(*left_out, sep="\n")
    if any(outcome.lost or outcome.duplicates for outcome in outcomes.values()):
        sys.exit("Something was lost, or is there twice.")


class _Trials:
    """Run the trials: embedded ones in a folder each, Kafka ones on one shared deployment."""

    def __init__(self, stack: ExitStack, *, short: bool) -> None:
        self._stack = stack
        self._short = short
        self._service: kafka_faults.KafkaDeployment | None = None

    def outcome(self, name: str) -> TrialOutcome:
        """NotHereError when this machine can't do it."""
        if name in kafka_faults.TRIALS:
            if self._service is None:
                self._service = self._stack.enter_context(kafka_faults.start_deployment(self._folder(self._stack)))
            return kafka_faults.TRIALS[name](self._service, self._short)
        with ExitStack() as stack:
            return embedded_faults.TRIALS[name](self._folder(stack), self._short)

    def _folder(self, stack: ExitStack) -> Path:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-chaos-")))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="fault", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--short", action="store_true", help="each as short as it is among the tests")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    if unknown := set(options.faults).difference(TRIALS):
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    return options


def _describe_run(*, short: bool) -> str:
    duration = "short trials" if short else "full trials"
    return f"4 clients add documents while each fault is on ({duration}); {machine_description()}."


def table(outcomes: Sequence[TrialOutcome]) -> str:
    """The outcomes as Markdown."""
    return "\n".join([HEAD, *map(row, outcomes)])


def row(outcome: TrialOutcome) -> str:
    """A line of the table."""
    names = {0: "no answer"}
    refused = ", ".join(f"{names.get(status, status)}: {count}" for status, count in sorted(outcome.refused.items()))
    counts = {
        "lost": outcome.lost,
        "there twice": outcome.duplicates,
        "dead letters": outcome.dead_lettered,
        "failed with a reason": outcome.failed,
        "redriven": outcome.redelivered,
    }
    notes = [*(f"{count} {what}" for what, count in counts.items() if count), *outcome.notes]
    cells = [
        outcome.fault,
        f"{outcome.acknowledged:,}",
        refused or "none",
        f"{outcome.recovery:.1f} s",
        "; ".join(notes),
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
