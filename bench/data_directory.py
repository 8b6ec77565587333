"""`python -m bench.data_directory`: bytes of a data directory by what they hold, once nothing changes any more.

Documents of ten passages of 700 characters in ten namespaces, which are searched, so that they have snapshots. An
endpoint in this process makes vectors up, of as many numbers as the default embedder's, whose models take an hour.
"""

import argparse
import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np

from bench.http_connection import HttpConnection
from bench.result_tables import machine_description
from bench.service_polling import wait_for_idle_cpu, wait_for_zero_lag
from bench.service_process import Server
from bench.text_generator import TextGenerator
from pipeline.models.e5.e5_embedder import DIMENSIONS
from pipeline.models.sentence_encoder.encoder_model import PART_DIMENSIONS

NAMESPACES = 10
PASSAGES = 10
CHARACTERS = 700
BATCH_DOCUMENTS = 50
_NUMBERS = DIMENSIONS + PART_DIMENSIONS


def main() -> None:
    """Print a table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.data_directory", description=__doc__)
    options.add_argument("--chunks", type=int, default=100_000)
    options.add_argument("--data", type=Path, required=True, help="a folder for the data directory, which is kept")
    options.add_argument(
        "--wait", type=float, default=720.0, help="seconds after the last search, in which old versions go"
    )
    chosen = options.parse_args()
    asyncio.run(_measure(chosen.data, chosen.chunks, chosen.wait))


async def _measure(data: Path, chunks: int, seconds: float) -> None:
    endpoint = await asyncio.start_server(_serve_vectors, "127.0.0.1", 0)
    port = endpoint.sockets[0].getsockname()[1]
    settings = {
        "RECOLLECT_EMBEDDER": "openai",
        "RECOLLECT_EMBEDDER_BASE_URL": f"http://127.0.0.1:{port}",
        "RECOLLECT_EMBEDDER_DIMENSIONS": str(_NUMBERS),
    }
    server = Server(data, settings)
    await asyncio.to_thread(server.start)
    try:
        connection = HttpConnection(server.url, server.key)
        for path, body in _batches(chunks // PASSAGES):
            await connection.post(path, body)
        await wait_for_zero_lag(connection, pause=1.0)
        await wait_for_idle_cpu(server.pid, seconds=3)
        for number in range(NAMESPACES):
            await connection.post(f"/ns/disk-{number}/search", {"query": "what is this about", "threshold": 0})
        await asyncio.sleep(seconds)
        await connection.close()
    finally:
        await asyncio.to_thread(server.stop)
    endpoint.close()
    print(f"{machine_description()}; {chunks:,} chunks, {seconds:.0f} s after the last search\n\n| | MB |\n|---|---:|")
    sizes = _sizes(data)
    for name, size in sorted(sizes.items(), key=lambda entry: -entry[1]):
        print(f"| {name} | {size / 1e6:.1f} |")
    print(f"| in all | {sum(sizes.values()) / 1e6:.1f} |")


def _batches(documents: int) -> Iterator[tuple[str, dict[str, object]]]:
    """Paths and bodies of requests that add so many documents, in turn over the namespaces."""
    writer = TextGenerator()
    for first in range(0, documents, BATCH_DOCUMENTS):
        batch = [
            {"id": f"d{number}", "content": writer.document(PASSAGES, CHARACTERS, number)}
            for number in range(first, min(first + BATCH_DOCUMENTS, documents))
        ]
        namespace = first // BATCH_DOCUMENTS % NAMESPACES
        yield f"/ns/disk-{namespace}/document/batch", {"documents": batch, "taskType": "superrag"}


def _sizes(data: Path) -> dict[str, int]:
    """Bytes by folder of the data directory, those of tables by table."""
    sizes: dict[str, int] = {}
    for path in data.rglob("*"):
        if path.is_file():
            parts = path.relative_to(data).parts
            name = " ".join(parts[: 2 if parts[0] == "tables" else 1])
            sizes[name] = sizes.get(name, 0) + path.stat().st_size
    return sizes


async def _serve_vectors(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests for embeddings, the same vector for the same text."""
    while (head := await _read_head(reader)) is not None:
        body = json.loads(await reader.readexactly(int(head["content-length"])))
        found = [{"index": at, "embedding": _made_up(text)} for at, text in enumerate(body["input"])]
        answer = json.dumps({"data": found}).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer
        )
        await writer.drain()
    writer.close()


async def _read_head(reader: asyncio.StreamReader) -> dict[str, str] | None:
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:  # the client has gone
        return None
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}


def _made_up(text: str) -> str:
    numbers = np.random.default_rng(crc32(text.encode())).normal(size=_NUMBERS).astype("<f4")
    return base64.b64encode(numbers.tobytes()).decode()


if __name__ == "__main__":
    main()
