"""`python -m bench.replay`: how fast documents come in, and how fast they are made again, in one run.

With `--workers 1 2 4` the documents go to Kafka once, without vectors and memories, and are replayed by an API
process and so many pipeline processes, started anew for each figure.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cryptography.fernet import Fernet

from bench.http_connection import HttpConnection
from bench.load import LoadBenchmark, Sizes, cpu_seconds
from bench.processes import CHARACTERS, SETTINGS, Deployment, measure_replay, send_texts, start_processes
from bench.result_tables import machine_description
from bench.service_polling import trigger_and_wait_for_replay, wait_for_idle_cpu, wait_for_zero_lag
from bench.service_process import Server
from bench.text_generator import TextGenerator
from tools.kafka_broker import run_broker


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=__doc__)
    parser.add_argument("--documents", type=int, default=3000, help="of 1 KB each")
    parser.add_argument("--workers", type=int, nargs="+", default=(), help="pipeline processes beside Kafka")
    options = parser.parse_args()
    if options.workers:
        _measure_workers(options.documents, options.workers)
        return
    with (
        tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder,
        Server(Path(folder) / "data", {"RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "1"}) as server,
    ):
        asyncio.run(_measure(server, options.documents))


async def _measure(server: Server, documents: int) -> None:
    sizes = Sizes(ingested=documents)
    await wait_for_idle_cpu(server.pid)  # the models are loaded after the first answer
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


def _measure_workers(documents: int, workers: Sequence[int]) -> None:
    settings = {**SETTINGS, "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode()}
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder, run_broker() as kafka:
        for number, count in enumerate(workers):
            with start_processes(Path(folder), count, kafka.bootstrap, settings) as deployment:
                asyncio.run(_measure_deployment(deployment, documents, ingests=number == 0))


async def _measure_deployment(deployment: Deployment, documents: int, *, ingests: bool) -> None:
    if ingests:
        writer = TextGenerator()
        await send_texts(deployment.api, [writer.paragraph(CHARACTERS) for _ in range(documents)])
    connection = HttpConnection(deployment.api.url, deployment.api.key)
    await wait_for_zero_lag(connection, pause=1.0)
    await connection.close()
    load = os.getloadavg()[0]
    rate, cpu = await measure_replay(deployment, documents)
    print(f"{deployment.name}: {rate:,.0f} documents/s, {cpu:.2f} ms of CPU each, load {load:.1f}", flush=True)


if __name__ == "__main__":
    main()
