"""`python -m bench.replay`: how fast documents come in, and how fast they are made again, in one run."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from bench.figures import machine
from bench.load import Load, Sizes, worked
from bench.server import Server
from bench.texts import Writer
from bench.waiting import idle, replay
from bench.wire import Connection


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=__doc__)
    parser.add_argument("--documents", type=int, default=3000, help="of 1 KB each")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder,
        Server(Path(folder) / "data", {"RECOLLECT_DREAMING_QUIET_SECONDS": "1"}) as server,
    ):
        asyncio.run(_measure(server, options.documents))


async def _measure(server: Server, documents: int) -> None:
    sizes = Sizes(ingested=documents)
    before = worked(server.pid)
    ingest = (await Load(server, Writer(), sizes).ingest())["ingest"]
    between = worked(server.pid)
    await idle(server.pid)
    rested = worked(server.pid)
    connection = await Connection.open(server.url, server.key)
    seconds = await replay(connection)
    after = worked(server.pid)
    rate = documents / seconds
    await connection.close()
    print(f"{documents} documents of 1 KB; {machine()}")
    print(f"ingest end to end: {ingest:,.0f} documents/s")
    print(f"replay beside the idle service, until the switch: {rate:,.0f} documents/s ({seconds:.1f} s)")
    print(f"replay is {rate / ingest:.1f} times as fast")
    print(f"processor time: {between - before:.1f} s and {after - rested:.1f} s")


if __name__ == "__main__":
    main()
