"""`python -m bench.replay`: how fast documents come in, and how fast they are made again, in one run."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from bench.http_connection import HttpConnection
from bench.load import LoadBenchmark, Sizes, cpu_seconds
from bench.result_tables import machine_description
from bench.service_polling import trigger_and_wait_for_replay, wait_for_idle_cpu
from bench.service_process import Server
from bench.text_generator import TextGenerator


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=__doc__)
    parser.add_argument("--documents", type=int, default=3000, help="of 1 KB each")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder,
        Server(Path(folder) / "data", {"RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "1"}) as server,
    ):
        asyncio.run(_measure(server, options.documents))


async def _measure(server: Server, documents: int) -> None:
    sizes = Sizes(ingested=documents)
    before = cpu_seconds(server.pid)
    ingest = (await LoadBenchmark(server, TextGenerator(), sizes).ingest())["ingest"]
    between = cpu_seconds(server.pid)
    await wait_for_idle_cpu(server.pid)
    rested = cpu_seconds(server.pid)
    connection = HttpConnection(server.url, server.key)
    seconds = await trigger_and_wait_for_replay(connection)
    after = cpu_seconds(server.pid)
    rate = documents / seconds
    await connection.close()
    print(f"{documents} documents of 1 KB; {machine_description()}")
    print(f"ingest end to end: {ingest:,.0f} documents/s")
    print(f"replay beside the idle service, until the switch: {rate:,.0f} documents/s ({seconds:.1f} s)")
    print(f"replay is {rate / ingest:.1f} times as fast")
    print(f"processor time: {between - before:.1f} s and {after - rested:.1f} s")


if __name__ == "__main__":
    main()
