"""`make chaos`: one fault after the other, and a table of what came of each."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.chaos import embedded, kafka
from bench.chaos.embedded import NotHereError
from bench.chaos.trial import Outcome
from bench.figures import machine, write

TRIALS = [*embedded.TRIALS, *kafka.TRIALS]
PAGE = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
PLACES = {"chaos": embedded.TRIALS.keys(), "chaos-kafka": kafka.TRIALS.keys()}
"""Where on the page which trials are shown."""
HEAD = (
    "| fault | acknowledged | found | duplicates | refused meanwhile | dead letters | failed with a reason |"
    " brought back | recovery | |\n|---|---:|---:|---:|---|---:|---:|---:|---:|---|"
)


def main() -> None:
    """Run the trials that are named, or all; exit 1 if anything was lost or is there twice."""
    options = _options()
    outcomes: dict[str, Outcome] = {}
    left_out: list[str] = []
    with ExitStack() as stack:
        trials = _Trials(stack, short=options.short)
        for name in options.faults or TRIALS:
            print(f"… {name}", file=sys.stderr, flush=True)
            try:
                outcomes[name] = trials.outcome(name)
            except NotHereError as error:
                left_out.append(f"Left out: {name}, which {error}.")
                continue
            print(row(outcomes[name]), file=sys.stderr, flush=True)
    for place, names in PLACES.items():
        if some := [one for name, one in outcomes.items() if name in names]:
            result = "\n".join([_note(short=options.short), "", table(some)])
            print(result)
            if options.write:
                write(PAGE, result, f"<!-- {place} -->", f"<!-- /{place} -->")
    print(*left_out, sep="\n")
    if any(one.lost or one.duplicates for one in outcomes.values()):
        sys.exit("Something was lost, or is there twice.")


class _Trials:
    """Those of one process have a folder each; those on Kafka share one deployment."""

    def __init__(self, stack: ExitStack, *, short: bool) -> None:
        self._stack = stack
        self._short = short
        self._service: kafka.Processes | None = None

    def outcome(self, name: str) -> Outcome:
        """NotHereError when this machine can't do it."""
        if name in kafka.TRIALS:
            if self._service is None:
                self._service = self._stack.enter_context(kafka.processes(self._folder(self._stack)))
            return kafka.TRIALS[name](self._service, self._short)
        with ExitStack() as stack:
            return embedded.TRIALS[name](self._folder(stack), self._short)

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


def _note(*, short: bool) -> str:
    how = "short trials" if short else "full trials"
    return f"4 clients add documents while each fault is on ({how}); {machine()}."


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as Markdown."""
    return "\n".join([HEAD, *map(row, outcomes)])


def row(one: Outcome) -> str:
    """A line of the table."""
    names = {0: "no answer"}
    refused = ", ".join(
        f"{names.get(status, status)}: {count}" for status, count in sorted(one.refused.items())
    )
    return (
        f"| {one.fault} | {one.acknowledged:,} | {one.found:,} | {one.duplicates} | {refused or 'none'} |"
        f" {one.parked} | {one.failed} | {one.brought_back} | {one.recovery:.1f} s | {'; '.join(one.notes)} |"
    )


if __name__ == "__main__":
    main()
