"""`python -m bench.embedding`: what the default embedder costs questions and documents, over HTTP."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from bench.http_connection import HttpConnection
from bench.load import LoadBenchmark, Sizes, resident_bytes
from bench.result_tables import machine_description, milliseconds
from bench.service_polling import trigger_and_wait_for_replay, wait_for_zero_lag
from bench.service_process import Server
from bench.text_generator import TextGenerator

PASSAGE_CHARACTERS = 800
"""About 200 tokens: a passage of the default size."""
ALONE = 30
"""Documents added one by one to an idle service."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.embedding", description=__doc__)
    parser.add_argument("--passages", type=int, default=1000, help="of 800 characters")
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, Server(Path(folder) / "data") as server:
        print(f"{options.passages} passages of 800 characters; {machine_description()}")
        asyncio.run(_Measurement(server).run(options.passages, options.questions))


class _Measurement:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._writer = TextGenerator()

    async def run(self, passages: int, questions: int) -> None:
        connection = HttpConnection(self._server.url, self._server.key)
        began = time.perf_counter()
        await self._ask(connection, "warm up")
        print(f"first search after the start: {time.perf_counter() - began:.2f} s")
        print(f"resident memory after the first search: {resident_bytes(self._server.pid) / 1e6:,.0f} MB")
        await self._documents_alone(connection)
        await self._many_documents(connection, passages)
        await self._questions(connection, questions)
        print(f"resident memory: {resident_bytes(self._server.pid) / 1e6:,.0f} MB")
        seconds = await trigger_and_wait_for_replay(connection)
        print(f"replay with the same model: {passages / seconds:,.0f} documents/s")
        await connection.close()

    async def _documents_alone(self, connection: HttpConnection) -> None:
        """The time from sending a document of one passage until it is found by words, and until it is done."""
        by_words, by_meaning = [], []
        for number in range(ALONE):
            word = f"quixotry{number}"
            content = f"{self._writer.paragraph(PASSAGE_CHARACTERS)} {word}."
            began = time.perf_counter()
            await connection.post("/ns/alone/document", {"content": content, "taskType": "superrag", "id": word})
            await self._until_found(connection, word)
            by_words.append(time.perf_counter() - began)
            await self._until_done(connection, word)
            by_meaning.append(time.perf_counter() - began)
        print(f"added, then found by its words, p50: {milliseconds(by_words):.1f} ms")
        print(f"added, then found by its meaning, p50: {milliseconds(by_meaning):.1f} ms")

    async def _until_found(self, connection: HttpConnection, word: str) -> None:
        body = {"query": word, "searchMode": "chunks", "threshold": 0, "limit": 1}
        while True:
            if word in str((await connection.post("/ns/alone/search", body))["results"]):
                return
            await asyncio.sleep(0.002)

    async def _until_done(self, connection: HttpConnection, document: str) -> None:
        while True:
            if (await connection.get(f"/ns/alone/document/{document}"))["system"]["status"] == "done":
                return
            await asyncio.sleep(0.002)

    async def _many_documents(self, connection: HttpConnection, passages: int) -> None:
        benchmark = LoadBenchmark(self._server, self._writer, Sizes())
        texts = [self._writer.paragraph(PASSAGE_CHARACTERS) for _ in range(passages)]
        began = time.perf_counter()
        await benchmark.send("many", texts, 100)
        await self._until_lag_is_zero_of(connection, "index")
        print(f"found by their words: {passages / (time.perf_counter() - began):,.0f} documents/s")
        times = [await self._ask(connection, self._writer.question(number)) for number in range(100)]
        print(f"question while documents are embedded, p50: {milliseconds(times):.1f} ms, "
              f"p99: {milliseconds(times, 0.99):.1f} ms")  # fmt: skip
        await wait_for_zero_lag(connection)
        print(f"found by their meaning: {passages / (time.perf_counter() - began):,.1f} passages/s")

    async def _until_lag_is_zero_of(self, connection: HttpConnection, stage: str) -> None:
        while True:
            lag = (await connection.get("/ready"))["lag"]
            if not any(records for name, records in lag.items() if stage in name):
                return
            await asyncio.sleep(0.02)

    async def _questions(self, connection: HttpConnection, count: int) -> None:
        questions = [self._writer.question(number, words=8) for number in range(1000, 1000 + count)]
        for label in ("new", "asked before"):
            times = [await self._ask(connection, question) for question in questions]
            print(f"question {label}, p50: {milliseconds(times):.2f} ms, p99: {milliseconds(times, 0.99):.2f} ms")

    async def _ask(self, connection: HttpConnection, question: str) -> float:
        began = time.perf_counter()
        await connection.post("/ns/many/search", {"query": question, "searchMode": "chunks", "limit": 10})
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
