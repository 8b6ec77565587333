"""`python -m bench.memory.partial_updates`: one of several things that somebody said has changed.

A server of its own gets each person in a namespace, a message a day. `changed first`: the first result for the changed
thing is from the message that changed it; `gone retired`: no current memory says the old; `kept first`: the first
result for what still holds says it; `kept remembered`: a current memory says it. `--show` prints what is not so, of
the open half only.
"""

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from bench.datasets.partial_updates import PartialUpdate, partial_updates
from bench.http_connection import HttpConnection
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server

_BEGIN = date(2026, 11, 20)
_MEASURES = ("changed first", "gone retired", "kept first", "kept remembered")


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.partial_updates", description=__doc__)
    options.add_argument("--show", action="store_true", help="print what is not as it should be, of the open half")
    options.add_argument("--open", action="store_true", help="only the open half")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, Server(Path(folder) / "data") as server:
        asyncio.run(_print_table(server, ["open"] if chosen.open else ["open", "locked"], show=chosen.show))


async def _print_table(server: Server, halves: list[str], *, show: bool) -> None:
    connection = HttpConnection(server.url, server.key)
    print(f"| half | {' | '.join(_MEASURES)} |\n|---|{'---:|' * len(_MEASURES)}")
    for half in halves:
        people = partial_updates(locked=half == "locked")
        for at, person in enumerate(people):
            for day, message in enumerate(person.said):
                document = {"id": str(day), "content": message, "date": (_BEGIN + timedelta(day)).isoformat()}
                await connection.post(
                    f"/ns/{half}:{at}/document/batch", {"documents": [document], "dreaming": "instant"}
                )
        await wait_for_zero_lag(connection)
        right, asked = Counter[str](), Counter[str]()
        for at, person in enumerate(people):
            for measure, is_right, told in await _judge(connection, f"{half}:{at}", person):
                asked[measure] += 1
                right[measure] += is_right
                if show and half == "open" and not is_right:
                    print(f"    {person.language} {measure}: {told}")
        print(f"| {half} | {' | '.join(f'{right[name]} of {asked[name]}' for name in _MEASURES)} |")
    await connection.close()


async def _judge(connection: HttpConnection, namespace: str, person: PartialUpdate) -> list[tuple[str, bool, str]]:
    listed = await connection.post("/v4/memories/list", {"containerTags": [namespace], "limit": 100})
    memories = [entry["memory"] for entry in listed["memoryEntries"] if entry["isLatest"]]
    judged = list(_judge_memories(memories, person))
    for question, answer in person.kept:
        found = await _first_result(connection, namespace, question)
        judged.append(("kept first", answer in found, f"{question} {answer} <- {found}"))
    question, answer = person.changed
    found = await _first_result(connection, namespace, question)
    judged.append(("changed first", answer in found, f"{question} {answer} <- {found}"))
    return judged


def _judge_memories(memories: list[str], person: PartialUpdate) -> Iterator[tuple[str, bool, str]]:
    # English memories are in the third person: only values stand in them as they were said.
    if person.language == "en":
        return
    yield "gone retired", not any(person.gone in memory for memory in memories), f"{person.gone} in {memories}"
    for _, answer in person.kept:
        yield "kept remembered", any(answer in memory for memory in memories), f"{answer} not in {memories}"


async def _first_result(connection: HttpConnection, namespace: str, question: str) -> str:
    answer = await connection.post(f"/ns/{namespace}/search", {"query": question})
    return next((result.get("memory") or result["chunk"] for result in answer["results"]), "")


if __name__ == "__main__":
    main()
