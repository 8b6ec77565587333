"""The whole service in a process to be killed: `python -m tests.support.connectors.killable_service folder
shelf`."""

import asyncio
import sys
from pathlib import Path

from bench.doubles.sample_source import SampleProvider
from tests.support.connectors.connected_service import run_connected_service


async def main(folder: Path, shelf: str, *, anew: bool) -> None:
    """Run until killed; the first of them makes the connector and says which it is."""
    async with run_connected_service(folder, {"github": SampleProvider(base_url=shelf)}) as world:
        if anew:
            sys.stdout.write(f"{await world.create('alice', 'github')}\n")
            sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], anew=len(sys.argv) > 3))
