"""`python -m bench.memory.messy_pairs`: what a second message does to the first, and what a search finds then.

`retired`: the first one's memory is replaced, where it should be and where not; `formed`: both messages made a
memory, as in the service by what they mean, too. With `--search` a server of its own gets each pair in a namespace,
the second message a day after the first: is the first result from the message that holds? `--show` prints the pairs
that are judged wrongly.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import get_args

from bench.datasets.messy_pairs import MessyPair, PairSet, messy_pairs, pairs_of_file
from bench.http_connection import HttpConnection
from bench.memory.formed_memories import formed_memories
from bench.recall import DATA
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.versioning.fact_comparison import find_contradiction

_DAYS = (date(2026, 11, 20), date(2026, 11, 21))


def main() -> None:
    """Print the tables as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.messy_pairs", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of further pairs")
    options.add_argument("--search", action="store_true", help="search too, which needs a server and minutes")
    options.add_argument("--show", action="store_true", help="print what is judged wrongly, of the open half only")
    chosen = options.parse_args()
    sets = {name: messy_pairs(name) for name in get_args(PairSet)}
    further = chosen.data / "messy-pairs-dev.json"
    if further.is_file():
        sets["further"] = pairs_of_file(further)
    _print_decisions(sets, shown=[*(name for name in sets if name.endswith("open")), "further"] if chosen.show else ())
    if chosen.search:
        with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, Server(Path(folder) / "data") as server:
            asyncio.run(_print_searches(server, sets))


def _print_decisions(sets: dict[str, list[MessyPair]], shown: Sequence[str]) -> None:
    print("| pairs | replaced | both formed | retired | hold | wrongly retired |\n|---|---:|---:|---:|---:|---:|")
    for name, pairs in sets.items():
        first, second = (
            asyncio.run(formed_memories([getattr(pair, said) for pair in pairs], day))
            for said, day in zip(("first", "second"), _DAYS, strict=True)
        )
        memories = dict(zip(pairs, zip(first, second, strict=True), strict=True))
        retired = {pair for pair, (older, newer) in memories.items() if is_retired(older, newer)}
        updates = [pair for pair in pairs if pair.is_update]
        held = [pair for pair in pairs if not pair.is_update]
        formed = sum(all(memories[pair]) for pair in updates)
        counts = (len(updates), formed, len(retired & set(updates)), len(held), len(retired & set(held)))
        print(f"| {name} | {' | '.join(map(str, counts))} |")
        for pair in pairs if name in shown else ():
            if (pair in retired) != pair.is_update:
                print(f"    {'missed' if pair.is_update else 'WRONG'}: {pair.first} -> {pair.second}")
                print(f"        {memories[pair][0]} -> {memories[pair][1]}")


def is_retired(older: Sequence[str], newer: Sequence[str]) -> bool:
    """Return whether one of the newer memories ends one of the older."""
    return any(
        find_contradiction(comparable_attributes(new), comparable_attributes(old)) is not None
        for new in newer
        for old in older
    )


async def _print_searches(server: Server, sets: dict[str, list[MessyPair]]) -> None:
    connection = HttpConnection(server.url, server.key)
    print("\n| pairs | questions | right first | after an update | empty |\n|---|---:|---:|---:|---:|")
    for name, pairs in sets.items():
        asked = [pair for pair in pairs if pair.question is not None]
        for at, pair in enumerate(asked):
            for place, message in enumerate((pair.first, pair.second)):
                document = {"id": str(place), "content": message, "date": _DAYS[place].isoformat()}
                await connection.post(
                    f"/ns/{name}:{at}/document/batch", {"documents": [document], "dreaming": "instant"}
                )
        await wait_for_zero_lag(connection)
        first = [await _first_document(connection, f"{name}:{at}", pair) for at, pair in enumerate(asked)]
        right = [found == str(int(pair.second_answers)) for pair, found in zip(asked, first, strict=True)]
        updated = [is_right for pair, is_right in zip(asked, right, strict=True) if pair.is_update]
        print(f"| {name} | {len(asked)} | {sum(right)} | {sum(updated)} of {len(updated)} | {first.count(None)} |")
    await connection.close()


async def _first_document(connection: HttpConnection, namespace: str, pair: MessyPair) -> str | None:
    answer = await connection.post(f"/ns/{namespace}/search", {"query": pair.question, "include": {"documents": True}})
    found = [result["included"]["document"]["id"] for result in answer["results"]]
    return str(found[0]) if found else None


if __name__ == "__main__":
    main()
