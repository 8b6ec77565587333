"""Cost of one more document with few or very many stored memories: `python -m bench.memory.marginal_cost`.

The rows of the namespace are written straight into the tables; then a server on them is given documents over
HTTP, one after the other, and asked for the profile. CPU is the server's own; with upkeep: until it rests.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import psutil

from bench.http_connection import HttpConnection, UnexpectedAnswerError
from bench.result_tables import machine_description
from bench.service_polling import wait_for_idle_cpu
from bench.service_process import Server
from pipeline.memory.versioning.fact_lookup import comparison_keys_of
from pipeline.models import open_embedder
from pipeline.ports import Embedder
from pipeline.rows import DocumentRow, MemoryRow, ProvenanceEntry
from pipeline.store import Store, open_store
from pipeline.text.analyzer import hash_terms
from schemas.events import NamespaceChanged, SettingsChanged
from schemas.ids import document_key, incarnation_key, memory_id

NAME = "home"
SPACE = incarnation_key(NAME, 0)
FACTS = 10
"""Cost of one document."""
BATCH = 500
"""Documents written together."""
ADDED = 60
READ = 50
_AT = datetime(2026, 1, 1, tzinfo=UTC)
_PATIENCE = 600.0
_QUIET = 5
"""Seconds in a row, each of which takes…"""
_IDLE_SECONDS = 0.06
"""…less than this of CPU."""


def main() -> None:
    """Print one line for each size, as a Markdown table."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.marginal_cost", description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 10_000, 100_000, 1_000_000])
    options.add_argument("--one", action="store_true", help="all that is there is known of one person")
    chosen = options.parse_args()
    print(f"{ADDED} documents of three sentences, one after the other; {machine_description()}.\n")
    print(
        "| memories there | first document, s | first, ms of CPU "
        "| next, ms of CPU | with upkeep, ms of CPU | next, ms until remembered "
        "| first profile, ms | ms of CPU | profile, ms of CPU | after a change, ms of CPU | resident, MB |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory(prefix="recollect-growth-") as folder:
            asyncio.run(fill(Path(folder) / "data", size, facts_of_one_person if chosen.one else facts_of_many_people))
            print(f"| {size:,} | {asyncio.run(_measure(Path(folder) / 'data'))} |", flush=True)


def facts_of_many_people(number: int) -> list[str]:
    """Generate the facts of one person each, with and without attributes."""
    who = f"Person{number}"
    return [
        f"{who} lives in City{number % 997}",
        f"{who} works at Company{number % 4999}",
        f"{who} likes book {number}",
        f"{who} met Person{number + 1} in shop {number % 313}",
        f"{who} plays the cello in band {number % 211}",
        f"{who}'s birthday is on day {number % 365}",
        f"{who} visited museum {number % 1013}",
        f"{who} has {number % 7 + 2} cats",
        f"{who} read report {number} of unit {number % 89}",
        f"{who} booked room {number % 53} for the meeting on plan {number}",
    ]


def facts_of_one_person(number: int) -> list[str]:
    """Generate the facts of one more person, half of them in attributes with many values."""
    return [
        f"Newcomer likes book {number}",
        f"Newcomer met Person{number} in shop {number % 313}",
        f"Newcomer plays song {number} of band {number % 211}",
        f"Newcomer visited museum {number} of City{number % 1013}",
        f"Newcomer has map {number} of the north",
        f"Newcomer read report {number} of unit {number % 89}",
        f"Newcomer uses tool {number}",
        f"Newcomer booked room {number % 53} for the meeting on plan {number}",
        f"Newcomer collects stamp {number}",
        f"Newcomer heard talk {number} about theme {number % 131}",
    ]


Known = Callable[[int], list[str]]
"""The facts of the document of this number."""


async def open_filled_store(data: Path, embedder: Embedder, buckets: Mapping[str, str] | None = None) -> Store:
    """The tables, with the settings of the namespace."""
    store = await open_store(str(data / "tables"), dimensions=embedder.dimensions, shards=4, embedder=embedder.name)
    row = NamespaceChanged(
        name=NAME, epoch=0, incarnations=(SPACE,), created_at=_AT, updated_at=_AT, buckets=dict(buckets or {})
    )
    store.catalog.apply(SettingsChanged(change=row))
    return store


async def fill(data: Path, size: int, population: Known = facts_of_many_people) -> None:
    """A namespace with so many memories, as the stages would have left it."""
    embedder = open_embedder("wordllama")
    store = await open_filled_store(data, embedder)
    for numbers in _batches(size // FACTS):
        await _write(store, embedder, numbers, population)
    await store.maintain()
    await store.close()


def _batches(documents: int) -> Iterator[range]:
    for begin in range(0, documents, BATCH):
        yield range(begin, min(begin + BATCH, documents))


async def _write(store: Store, embedder: Embedder, numbers: range, population: Known) -> None:
    documents = {document_key(SPACE, f"d{number}"): _document(number, population) for number in numbers}
    formed = [memory for number in numbers for memory in await _memories(embedder, number, population)]
    memories = {memory.id: replace(memory, comparison_keys=comparison_keys_of(memory)) for memory in formed}
    await store.documents.update(list(documents), lambda key, _: [documents[key]])
    await store.memories.update(list(memories), lambda id_, _: [memories[id_]])
    await store.flush()


def _document(number: int, population: Known) -> DocumentRow:
    at = _AT + timedelta(seconds=number)
    key = document_key(SPACE, f"d{number}")
    text = "\n".join(population(number))
    return DocumentRow(
        key,
        SPACE,
        f"d{number}",
        number,
        number,
        at,
        at,
        "done",
        metadata={"shelf": number % 10},
        text=text,
        text_seq=number,
    )


async def _memories(embedder: Embedder, number: int, population: Known) -> list[MemoryRow]:
    at = _AT + timedelta(seconds=number)
    key = document_key(SPACE, f"d{number}")
    texts = population(number)
    statement = ProvenanceEntry(key, number, number, at, at, at)
    return [
        MemoryRow(
            id=memory_id(SPACE, text),
            incarnation=SPACE,
            text=text,
            sources=(key,),
            seq=number,
            created_at=at,
            updated_at=at,
            vector=vector,
            terms=hash_terms(text),
            is_static=place % 2 == 0,
            provenance=(statement,),
        )
        for place, (text, vector) in enumerate(zip(texts, await embedder.embed_documents(texts), strict=True))
    ]


@dataclass(frozen=True, slots=True)
class ElapsedTime:
    """Seconds of CPU of the server, and on the clock."""

    cpu: float
    wall: float


async def _measure(data: Path) -> str:
    with Server(data, {"RECOLLECT_SHARDS": "4"}) as server:
        connection = HttpConnection(server.url, server.key)
        process = psutil.Process(server.pid)
        first = await _time_until_remembered(connection, process, 0)
        await wait_for_idle_cpu(process.pid, seconds=_QUIET, least=_IDLE_SECONDS)
        spent = _cpu(process)
        later = [await _time_until_remembered(connection, process, number) for number in range(1, ADDED)]
        await wait_for_idle_cpu(process.pid, seconds=_QUIET, least=_IDLE_SECONDS)
        kept_up = (_cpu(process) - spent) / len(later)
        cold = await _profile(connection, process)
        warm = await _cpu_of_idle_process(connection, process)
        await _time_until_remembered(connection, process, ADDED)
        changed = await _profile(connection, process)
        resident = process.memory_info().rss / 1024**2
        await connection.close()
    return " | ".join(
        [
            f"{first.wall:.1f}",
            f"{first.cpu * 1000:.0f}",
            f"{sum(cost.cpu for cost in later) / len(later) * 1000:.0f}",
            f"{kept_up * 1000:.0f}",
            f"{median(cost.wall for cost in later) * 1000:.0f}",
            f"{cold.wall * 1000:.0f}",
            f"{cold.cpu * 1000:.0f}",
            f"{warm * 1000:.1f}",
            f"{changed.cpu * 1000:.0f}",
            f"{resident:.0f}",
        ]
    )


async def _time_until_remembered(connection: HttpConnection, process: psutil.Process, number: int) -> ElapsedTime:
    """Add a document; what it took until its memories were there."""
    content = f"Newcomer likes tea {number}. Newcomer plays chess. Ann{number} works at Acme."
    began, spent = time.perf_counter(), _cpu(process)
    body = {"id": f"new{number}", "content": content, "dreaming": "instant"}
    await connection.post(f"/ns/{NAME}/document", body)
    while time.perf_counter() - began < _PATIENCE:
        read = await connection.get(f"/ns/{NAME}/document/new{number}")
        if read["system"]["dreamingStatus"] == "done" and read["system"]["status"] == "done":
            return ElapsedTime(_cpu(process) - spent, time.perf_counter() - began)
        await asyncio.sleep(0.02)
    raise TimeoutError(f"new{number} was not remembered within {_PATIENCE:.0f} s")


async def _profile(connection: HttpConnection, process: psutil.Process) -> ElapsedTime:
    """Asked again where the service says that it takes too long: what was begun goes on."""
    began, spent = time.perf_counter(), _cpu(process)
    while True:
        try:
            await connection.post(f"/ns/{NAME}/profile", {})
        except UnexpectedAnswerError:
            if time.perf_counter() - began > _PATIENCE:
                raise
        else:
            return ElapsedTime(_cpu(process) - spent, time.perf_counter() - began)


async def _cpu_of_idle_process(connection: HttpConnection, process: psutil.Process) -> float:
    spent = _cpu(process)
    for _ in range(READ):
        await connection.post(f"/ns/{NAME}/profile", {})
    return (_cpu(process) - spent) / READ


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
