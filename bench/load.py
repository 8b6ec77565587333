"""The service under load, over HTTP: adding, finding, ingesting, searching."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.http_connection import HttpConnection, UnexpectedAnswerError
from bench.result_tables import milliseconds
from bench.service_process import Server
from bench.text_generator import TextGenerator

CHUNKS_PER_DOCUMENT = 10
PARAGRAPH_CHARACTERS = 740
"""Two do not fit into one chunk of 800 characters, so a paragraph is a chunk."""
SHARES = 10
"""A filter matches one document in ten."""
PATIENCE = 1800.0
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size of a measurement."""

    adds: int = 300
    adds_per_client: int = 100
    batches: int = 5
    found: int = 30
    ingested: int = 3000
    namespaces: int = 10
    chunks: int = 10_000
    searches: int = 500
    starts: int = 3

    @classmethod
    def quick(cls) -> "Sizes":
        """A tenth: to see that everything works."""
        return cls(60, 10, 2, 8, 300, 10, 1000, 100, 1)


async def measure(server: Server, writer: TextGenerator, sizes: Sizes, say: Callable[[str], None]) -> Figures:
    """All figures of a running server, whose data directory is empty."""
    bench = LoadBenchmark(server, writer, sizes)
    figures: Figures = {}
    for what, part in bench.measurements():
        say(what)
        figures |= await part()
    return figures


class LoadBenchmark:
    """The measurements, in the order in which they must run."""

    def __init__(self, server: Server, writer: TextGenerator, sizes: Sizes) -> None:
        self._server = server
        self._writer = writer
        self._sizes = sizes

    def measurements(self) -> Sequence[tuple[str, Callable[[], Awaitable[Figures]]]]:
        """Load on a service and its measurement."""
        return (
            ("the client itself", self.client_overhead),
            ("adding, one client", self.add_alone),
            ("adding, 32 clients", self.add_concurrently),
            ("batches of 600", self.batches),
            ("added to found", self.time_to_searchable),
            ("ingest end to end", self.ingest),
            ("filling the namespaces", self.fill),
            ("searching", self.search),
            ("starting again", self.start),
        )

    async def client_overhead(self) -> Figures:
        """Measure the overhead of the client: a server that does nothing, and one that answers /health."""
        nothing = await asyncio.start_server(_serve_empty_response, "127.0.0.1", 0)
        port = nothing.sockets[0].getsockname()[1]
        own = await self._times(f"http://127.0.0.1:{port}", "/", 500)
        nothing.close()
        health = await self._times(self._server.url, "/health", 500)
        return {"client": milliseconds(own), "health": milliseconds(health)}

    async def add_alone(self) -> Figures:
        """Documents of 1 KB, one after the other."""
        connection = self._connect()
        taken = [await self._add(connection, "alone", number) for number in range(self._sizes.adds)]
        await self._wait_until_processed(connection, "alone")
        await connection.close()
        return {"add_alone_p50": milliseconds(taken), "add_alone_p99": milliseconds(taken, 0.99)}

    async def add_concurrently(self) -> Figures:
        """Documents of 1 KB from 32 connections, each waiting for its answer."""
        connections = [self._connect() for _ in range(32)]
        each = self._sizes.adds_per_client

        async def adds(client: int, connection: HttpConnection) -> list[float]:
            return [await self._add(connection, "together", client * each + n) for n in range(each)]

        began = time.perf_counter()
        taken = await asyncio.gather(*(adds(*pair) for pair in enumerate(connections)))
        seconds = time.perf_counter() - began
        await self._wait_until_processed(connections[0], "together")
        for connection in connections:
            await connection.close()
        return {
            "adds_32": 32 * each / seconds,
            "adds_32_p50": milliseconds([value for values in taken for value in values]),
        }

    async def batches(self) -> Figures:
        """600 documents of about 100 characters in one request."""
        connection = self._connect()
        taken = []
        for batch in range(self._sizes.batches):
            body = self._batch([self._writer.paragraph(100) + f" {batch}.{n}" for n in range(600)])
            began = time.perf_counter()
            answer = await connection.post("/ns/batches/document/batch", body)
            taken.append(time.perf_counter() - began)
            _none_failed(answer)
            await self._wait_until_processed(connection, "batches")
        await connection.close()
        return {"batch_600": milliseconds(taken)}

    async def time_to_searchable(self) -> Figures:
        """Measure the time from sending a document until a search returns it, on an idle service."""
        connection = self._connect()
        taken = []
        for number in range(self._sizes.found):
            word = f"quixotry{number}"
            body = {"content": f"{self._writer.paragraph(900)} {word}.", "taskType": "superrag", "id": word}
            began = time.perf_counter()
            await connection.post("/ns/found/document", body)
            await self._until_found(connection, word)
            taken.append(time.perf_counter() - began)
            await self._wait_until_processed(connection, "found")
        await connection.close()
        return {"found_p50": milliseconds(taken)}

    async def ingest(self) -> Figures:
        """Documents of 1 KB in batches of 100 from 4 connections, until the last one is done."""
        count = self._sizes.ingested
        texts = [self._writer.paragraph(1000) for _ in range(count)]
        began = time.perf_counter()
        await self.send("ingest", texts, 100)
        connection = self._connect()
        await self._wait_until_processed(connection, "ingest")
        seconds = time.perf_counter() - began
        await self._expect(connection, "ingest", "documents", count)
        await connection.close()
        return {"ingest": count / seconds}

    async def fill(self) -> Figures:
        """Namespaces of equal size, in documents of ten chunks."""
        documents = self._sizes.chunks // CHUNKS_PER_DOCUMENT
        connection = self._connect()
        began = time.perf_counter()
        for incarnation in range(self._sizes.namespaces):
            texts = namespace_texts(self._writer, documents)
            await self.send(f"filled-{incarnation}", texts, 50)
            await self._wait_until_processed(connection, f"filled-{incarnation}")
        seconds = time.perf_counter() - began
        for incarnation in range(self._sizes.namespaces):
            await self._expect(connection, f"filled-{incarnation}", "chunks", self._sizes.chunks)
        await connection.close()
        return {"load": self._sizes.namespaces * self._sizes.chunks / seconds}

    async def search(self) -> Figures:
        """Questions of five words to one namespace after the other; memory is read when all were asked."""
        connection = self._connect()
        cold = [await self._search(connection, incarnation, 0) for incarnation in range(self._sizes.namespaces)]
        plain, filtered = [], []
        for number in range(self._sizes.searches):
            plain.append(await self._search(connection, 3, number))
            filtered.append(await self._search(connection, 3, number, _share_filter(number)))
        together = await self._search_together(8)
        await connection.close()
        return {
            "search_first": milliseconds(cold),
            "search_p50": milliseconds(plain),
            "search_p99": milliseconds(plain, 0.99),
            "filtered_p50": milliseconds(filtered),
            "filtered_p99": milliseconds(filtered, 0.99),
            "searches_8": together,
            "rss": resident_bytes(self._server.pid) / 1e6,
            "disk": folder_bytes(self._server.data_dir) / 1e6,
        }

    async def start(self) -> Figures:
        """Ended and started again on the same data, with everything read before."""
        taken = []
        for _ in range(self._sizes.starts):
            await asyncio.to_thread(self._server.stop)
            taken.append(await asyncio.to_thread(self._server.start))
        return {"start": statistics.median(taken)}

    def _connect(self) -> HttpConnection:
        return HttpConnection(self._server.url, self._server.key)

    async def _times(self, url: str, path: str, count: int) -> list[float]:
        connection = HttpConnection(url, self._server.key)
        taken = []
        for _ in range(count):
            began = time.perf_counter()
            await connection.request("GET", path)
            taken.append(time.perf_counter() - began)
        await connection.close()
        return taken

    async def _add(self, connection: HttpConnection, namespace: str, number: int) -> float:
        body = {"content": self._writer.paragraph(1000) + f" {number}.", "metadata": _metadata(number)}
        began = time.perf_counter()
        await connection.post(f"/ns/{namespace}/document", body)
        return time.perf_counter() - began

    def _batch(self, texts: Sequence[str], first: int = 0) -> dict[str, Any]:
        documents = [
            {"content": text, "id": f"d{number}", "metadata": _metadata(number)}
            for number, text in enumerate(texts, first)
        ]
        return {"documents": documents, "taskType": "superrag"}

    async def send(self, namespace: str, texts: Sequence[str], size: int) -> None:
        waiting = iter(range(0, len(texts), size))

        async def sends() -> None:
            connection = self._connect()
            for first in waiting:
                body = self._batch(texts[first : first + size], first)
                _none_failed(await connection.post(f"/ns/{namespace}/document/batch", body))
            await connection.close()

        await asyncio.gather(*(sends() for _ in range(4)))

    async def _search(
        self,
        connection: HttpConnection,
        incarnation: int,
        number: int,
        condition: dict[str, Any] | None = None,
    ) -> float:
        body = {"query": self._writer.question(number), "searchMode": "chunks"}
        began = time.perf_counter()
        path = f"/ns/filled-{incarnation}/search"
        answer = await connection.post(path, {**body, "filter": condition} if condition else body)
        seconds = time.perf_counter() - began
        if not answer["results"]:
            raise UnexpectedAnswerError(f"{path} found nothing for {body}")
        return seconds

    async def _search_together(self, clients: int) -> float:
        each = max(1, self._sizes.searches // clients)

        async def searches(client: int) -> None:
            connection = self._connect()
            for number in range(each):
                await self._search(connection, 3, client * each + number)
            await connection.close()

        began = time.perf_counter()
        await asyncio.gather(*(searches(client) for client in range(clients)))
        return clients * each / (time.perf_counter() - began)

    async def _until_found(self, connection: HttpConnection, word: str) -> None:
        body = {"query": word, "searchMode": "chunks", "threshold": 0, "limit": 1}
        deadline = time.perf_counter() + PATIENCE
        while time.perf_counter() < deadline:
            answer = await connection.post("/ns/found/search", body)
            if any(word in result.get("chunk", "") for result in answer["results"]):
                return
            await asyncio.sleep(0.005)
        raise UnexpectedAnswerError(f"{word} was added and never found")

    async def _wait_until_processed(self, connection: HttpConnection, namespace: str) -> None:
        """Wait until every document of the namespace is done and its memories are formed."""
        page, pages = 1, 1
        deadline = time.perf_counter() + PATIENCE
        while page <= pages:
            path = f"/ns/{namespace}/list/documents?limit=100&page={page}"
            answer = await connection.post(path, {"include": {"memoryCount": False}})
            pages = answer["pagination"]["totalPages"]
            systems = [document["system"] for document in answer["documents"]]
            states = {system[name] for system in systems for name in ("status", "dreamingStatus")}
            if "failed" in states:
                raise UnexpectedAnswerError(f"a document of {namespace} failed")
            if states <= {"done"}:
                page += 1
                continue
            if time.perf_counter() > deadline:
                raise UnexpectedAnswerError(f"{namespace} is not done after {PATIENCE:.0f} s: {states}")
            await asyncio.sleep(0.02)

    async def _expect(self, connection: HttpConnection, namespace: str, kind: str, count: int) -> None:
        answer = await connection.post(f"/ns/{namespace}/list/{kind}?limit=1", {})
        total = answer["pagination"]["totalItems"]
        if total != count:
            raise UnexpectedAnswerError(f"{namespace} holds {total} {kind}, not {count}")


def namespace_texts(writer: TextGenerator, documents: int) -> list[str]:
    """The texts of a namespace: ten chunks each."""
    return [writer.document(CHUNKS_PER_DOCUMENT, PARAGRAPH_CHARACTERS, number) for number in range(documents)]


def resident_bytes(pid: int) -> int:
    """Resident bytes of a process and of those it started."""
    return sum(int(member.memory_info().rss) for member in _process_tree(pid))


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time of a process and of those it started."""
    times = [member.cpu_times() for member in _process_tree(pid)]
    return sum(float(process.user + process.system) for process in times)


def _process_tree(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def folder_bytes(folder: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(file_sizes(folder))


def file_sizes(folder: Path) -> list[int]:
    """Bytes of each file of a folder."""
    return [path.stat().st_size for path in folder.rglob("*") if path.is_file()]


def _metadata(number: int) -> dict[str, str | int]:
    return {"share": f"s{number % SHARES}", "number": number}


def _share_filter(number: int) -> dict[str, str]:
    return {"field": "share", "operator": "eq", "value": f"s{number % SHARES}"}


def _none_failed(answer: dict[str, Any]) -> None:
    if answer["failed"]:
        raise UnexpectedAnswerError(f"{answer['failed']} documents of a batch were refused")


async def _serve_empty_response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    except asyncio.IncompleteReadError:
        writer.close()
