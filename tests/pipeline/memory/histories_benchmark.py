"""Memories of whole histories: `python -m tests.pipeline.memory.histories_benchmark`.

The conversations of each person become documents in order, and what has an end is over then, as in the service.
*formed*: facts that a memory states; *wrong*: what none may state but one does; *latest*: values that hold at the end
and stand in a latest memory; *stale*: former values that a latest memory still states; *ended*: former values that were
remembered, and are no longer latest; *shown* and *stale lines*: the same of the profile on the last day. `--show`
prints what is not as it should be, and every memory, of the open half only.
"""

import argparse
import asyncio
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import Any, get_args

from bench.datasets.histories import History, HistorySet, histories
from tests.pipeline.profile.profile_worlds_benchmark import profile_of_rows, write_documents

_COLUMNS = (
    "memories",
    "facts",
    "formed",
    "forbidden",
    "wrong",
    "hold",
    "latest",
    "former",
    "ended",
    "stale",
    "key facts",
    "shown",
    "stale lines",
)


async def judge(history: History, *, show: bool) -> Counter[str]:
    """Count what the memories and the profile of a history say."""
    documents = [{"date": day, "text": said} for day, said in history.conversations]
    rows = (await write_documents(documents)).memories.rows
    ends = {row.id: row.expires_at for row in rows if row.expires_at is not None}
    over = {id_ for id_, end in ends.items() if end < datetime.fromisoformat(history.now).replace(tzinfo=UTC)}
    every, rows = [row.text for row in rows], [row for row in rows if row.id not in over]
    latest = [row.text for row in rows if row.is_latest]
    snapshot = await profile_of_rows(rows, history.now)
    lines = [entry.text for entry in (*snapshot.static, *snapshot.dynamic)]
    rules = history.rules
    met = {
        mark: [rule.is_met_by_any(texts) for rule in rules[mark]]
        for mark, texts in (("+", every), ("-", every), ("=", latest), ("x", latest), ("p", lines), ("n", lines))
    }
    ended = [rule.is_met_by_any(every) and not rule.is_met_by_any(latest) for rule in rules["x"]]
    if show:
        _show(history, rows, lines, met)
    counts = (
        len(every),
        len(met["+"]),
        sum(met["+"]),
        len(met["-"]),
        sum(met["-"]),
        len(met["="]),
        sum(met["="]),
        len(ended),
        sum(ended),
        sum(met["x"]),
        len(met["p"]),
        sum(met["p"]),
        sum(met["n"]),
    )
    return Counter(dict(zip(_COLUMNS, counts, strict=True)))


def _show(history: History, rows: list[Any], lines: list[str], met: dict[str, list[bool]]) -> None:
    _print(f"\n# {history.person}")
    for row in rows:
        _print(f"{'  ' if row.is_latest else 'x '}{row.text}")
    for line in lines:
        _print(f"    > {line}")
    for mark, wanted in (("+", True), ("-", False), ("=", True), ("x", False), ("p", True), ("n", False)):
        missed = [rule for rule, is_met in zip(history.rules[mark], met[mark], strict=True) if is_met != wanted]
        _print(f"{mark} " + "; ".join(" & ".join(rule.parts) for rule in missed))


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m tests.pipeline.memory.histories_benchmark", description=__doc__)
    options.add_argument("--show", action="store_true", help="print every memory and miss, of the open half only")
    options.add_argument("--open", action="store_true", help="only the open half")
    options.add_argument("--each", action="store_true", help="a row for each person of the open half")
    chosen = options.parse_args()
    halves: list[HistorySet] = [half for half in get_args(HistorySet) if half.endswith("open") or not chosen.open]
    table: list[str] = []
    for half in halves:
        total = Counter[str]()
        for history in histories(half):
            counts = asyncio.run(judge(history, show=chosen.show and half.endswith("open")))
            total.update(counts)
            if chosen.each and half.endswith("open"):
                table.append(_row(history.person, counts))
        table.append(_row(half, total))
    _print(f"\n| half | {' | '.join(_COLUMNS)} |\n|---|{'---:|' * len(_COLUMNS)}")
    _print("\n".join(table))


def _row(name: str, counts: Counter[str]) -> str:
    return f"| {name} | {' | '.join(str(counts[column]) for column in _COLUMNS)} |"


if __name__ == "__main__":
    main()
