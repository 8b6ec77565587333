"""`python -m bench.memory.asked_histories`: is the first result what holds on the last day of a history?

A server of its own gets each history with questions, a document for each conversation. *former*: the first result
says what was so earlier. `--show` prints what is not right, of the open half only.
"""

import argparse
import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import get_args

from bench.datasets.histories import History, HistorySet, Question, histories
from bench.http_connection import HttpConnection
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server

_OUTCOMES = ("right", "former", "other", "empty")


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.asked_histories", description=__doc__)
    options.add_argument("--show", action="store_true", help="print what is not right, of the open half only")
    show = options.parse_args().show
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, Server(Path(folder) / "data") as server:
        asyncio.run(_ask(server, show=show))


async def _ask(server: Server, *, show: bool) -> None:
    connection = HttpConnection(server.url, server.key)
    sets = {name: [told for told in histories(name) if told.questions] for name in get_args(HistorySet)}
    for history in (told for each in sets.values() for told in each):
        for number, (day, text) in enumerate(history.conversations):
            document = {"id": str(number), "content": text, "date": day}
            await connection.post(
                f"/ns/{history.person}/document/batch", {"documents": [document], "dreaming": "instant"}
            )
    await wait_for_zero_lag(connection)
    print(f"| half | questions | {' | '.join(_OUTCOMES)} |\n|---|{'---:|' * 5}")
    for name, each in sets.items():
        counts = Counter[str]()
        for history in each:
            for question in history.questions:
                outcome, first = await _outcome(connection, history, question)
                counts[outcome] += 1
                if show and name.endswith("open") and outcome != "right":
                    print(f"    {outcome}: {question.text} -> {first}")
        if each:
            print(f"| {name} | {counts.total()} | {' | '.join(str(counts[outcome]) for outcome in _OUTCOMES)} |")
    await connection.close()


async def _outcome(connection: HttpConnection, history: History, question: Question) -> tuple[str, str]:
    """Return what the first result of a question is, and its text."""
    answer = await connection.post(f"/ns/{history.person}/search", {"query": question.text})
    first = next((result.get("memory") or result["chunk"] for result in answer["results"]), "")
    if not first or question.wanted.is_met_by(first):
        return "right" if first else "empty", first
    return "former" if question.former is not None and question.former.is_met_by(first) else "other", first


if __name__ == "__main__":
    main()
