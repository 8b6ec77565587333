"""`python -m bench.synced_sources`: workspaces, chats, mails and notes, asked for in other words, over HTTP.

A server of its own reads the texts of `bench.datasets.synced_sources` one by one, with all defaults. A result counts if
it comes from a text that answers and has most of the words that tell it. Printed is the locked half of the questions;
`--open` takes the half that the ranking was tuned on, and shows what was missed. `--data DIR` keeps the filled server.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import mean
from typing import Any

from bench.datasets.synced_sources import SOURCES, WHOLE_SOURCES, Answer, Source, read_source
from bench.http_connection import HttpConnection
from bench.ranking import is_locked
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server

MODES: Mapping[str, dict[str, Any]] = {
    "hybrid": {},
    "memories": {"searchMode": "memories"},
    "rerank": {"rerank": "order"},
    "rewritten": {"rewriteQuery": True},
}
MOST = 0.6
"""Share of the answer's words that a result has to have: a memory tells them in another form."""
MEASURES = ("first", "in three", "empty", "newer first", "near: silent", "below 0.5", "something else: silent")
Results = Sequence[Mapping[str, Any]]


def main() -> None:
    """Print a line for each source and mode."""
    options = argparse.ArgumentParser(prog="python -m bench.synced_sources", description=__doc__)
    options.add_argument("--open", action="store_true", help="the open half")
    options.add_argument("--data", type=Path, help="folder of the server's data, filled where it is absent")
    options.add_argument("--mode", action="append", choices=MODES, help="only these kinds of searches")
    chosen = options.parse_args()
    with ExitStack() as held:
        folder = (
            chosen.data or Path(held.enter_context(tempfile.TemporaryDirectory(prefix="recollect-bench-"))) / "data"
        )
        is_filled = folder.is_dir()
        server = held.enter_context(Server(folder, key=_KEY))
        asyncio.run(_measure(server, chosen.mode or list(MODES), is_open=chosen.open, is_filled=is_filled))


_KEY = f"rk_{'0' * 32}"
"""Of a server on loopback for as long as this runs."""


async def _measure(server: Server, modes: Sequence[str], *, is_open: bool, is_filled: bool) -> None:
    connection = HttpConnection(server.url, server.key)
    sources = {name: read_source(name) for name in (*SOURCES, *WHOLE_SOURCES)}
    if not is_filled:
        for name, source in sources.items():
            await _fill(connection, name, source)
    await wait_for_zero_lag(connection)
    print("| | " + " | ".join(MEASURES) + " |\n|---|" + "---:|" * len(MEASURES))
    for name, source in sources.items():
        for mode in modes:
            if WHOLE_SOURCES.get(name) is is_open:
                continue
            asked = _Asker(connection, name, MODES[mode], is_open=is_open)
            print(f"| {name}, {mode} | {' | '.join(await asked.cells(source))} |", flush=True)
    await connection.close()


async def _fill(connection: HttpConnection, namespace: str, source: Source) -> None:
    for at, text in enumerate(source.texts):  # one by one: each is newer than the one before
        document = {"id": str(at), "content": text.content, "date": text.day}
        body = {"documents": [document], "dreaming": "instant"}
        await connection.post(f"/ns/{namespace}/document/batch", body)
        await wait_for_zero_lag(connection)


class _Asker:
    """Asks one half of a source's questions; of the open one it shows what was missed."""

    def __init__(self, connection: HttpConnection, namespace: str, body: dict[str, Any], *, is_open: bool) -> None:
        self._connection = connection
        self._namespace = namespace
        self._body = body
        self._is_open = is_open

    async def cells(self, source: Source) -> list[str]:
        """The measures in percent, with the number of questions."""
        answered = [await self._places(text, each) for text, each in source.answered if self._is_asked(text)]
        newer = [
            (await self._places(text, each, older))[0] for text, each, older in source.replaced if self._is_asked(text)
        ]
        near = [await self._silence(text) for text in source.near if self._is_asked(text)]
        foreign = [await self._silence(text) for text in source.foreign if self._is_asked(text)]
        columns = [*zip(*answered, strict=True), newer, *zip(*near, strict=True), [silent for silent, _ in foreign]]
        return [f"{100 * mean(column):.1f} of {len(column)}" for column in columns]

    def _is_asked(self, question: str) -> bool:
        return self._namespace in WHOLE_SOURCES or is_locked(question) != self._is_open

    async def _places(self, question: str, answer: Answer, *others: Answer) -> list[bool]:
        results = await self._ask(question)
        told = [_tells(result, answer) for result in results]
        self._show(told[:1] == [True], question, " / ".join(each.words for each in (answer, *others)), results)
        return [told[:1] == [True], any(told[:3]), not results]

    async def _silence(self, question: str) -> list[bool]:
        results = await self._ask(question)
        self._show(not results, question, "nothing", results)
        return [not results, all(result["similarity"] < 0.5 for result in results)]

    async def _ask(self, question: str) -> Results:
        body = {"query": question, "include": {"documents": True}, **self._body}
        results: Results = (await self._connection.post(f"/ns/{self._namespace}/search", body))["results"]
        return results

    def _show(self, is_right: bool, question: str, expected: str, results: Results) -> None:
        if self._is_open and not is_right:
            print(f"{question} = {expected}")
            for result in results[:3]:
                print(f"    {result['similarity']:.2f} {' '.join(_text(result).split())[:110]}")


def _tells(result: Mapping[str, Any], answer: Answer) -> bool:
    text, words = " ".join(_text(result).casefold().split()), answer.words.casefold().split()
    has_most = sum(word in text for word in words) >= MOST * len(words)
    return has_most and int(result["included"]["document"]["id"]) in answer.places


def _text(result: Mapping[str, Any]) -> str:
    text: str = result.get("memory") or result["chunk"]
    return text


if __name__ == "__main__":
    main()
