"""`python -m bench.replay`: how fast documents come in, and how fast they are made again, in one run."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from bench.figures import machine
from bench.load import Load, Sizes
from bench.server import Server
from bench.texts import Writer
from bench.wire import Connection, UnexpectedAnswerError

PATIENCE = 3600.0


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
    ingest = (await Load(server, Writer(), sizes).ingest())["ingest"]
    connection = await Connection.open(server.url, server.key)
    seconds = await _replay(connection)
    replay = documents / seconds
    await connection.close()
    print(f"{documents} documents of 1 KB; {machine()}")
    print(f"ingest end to end: {ingest:,.0f} documents/s")
    print(f"replay beside the idle service, until the switch: {replay:,.0f} documents/s ({seconds:.1f} s)")
    print(f"replay is {replay / ingest:.1f} times as fast")


async def _replay(connection: Connection) -> float:
    began = time.perf_counter()
    status, answer = await connection.request("POST", "/admin/replay", b"{}")
    if status != 202:
        raise UnexpectedAnswerError(f"no replay was started: {answer.decode(errors='replace')}")
    while time.perf_counter() - began < PATIENCE:
        progress = await connection.get("/admin/replay")
        if progress["state"] == "done":
            return time.perf_counter() - began
        if progress["state"] != "running":
            raise UnexpectedAnswerError(f"the replay {progress['state']}: {progress['error']}")
        await asyncio.sleep(0.05)
    raise UnexpectedAnswerError(f"the replay is not done after {PATIENCE:.0f} s")


if __name__ == "__main__":
    main()
