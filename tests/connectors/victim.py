"""The whole service in a process to be killed: `python -m tests.connectors.victim folder shelf`."""

import asyncio
import sys
from pathlib import Path

from tests.connectors.shelf import ShelfProvider
from tests.connectors.world import connected


async def main(folder: Path, shelf: str, *, anew: bool) -> None:
    """Run until killed; the first of them makes the connector and says which it is."""
    async with connected(folder, {"github": ShelfProvider(at=shelf)}) as world:
        if anew:
            sys.stdout.write(f"{await world.create('alice', 'github')}\n")
            sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], anew=len(sys.argv) > 3))
