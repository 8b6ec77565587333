"""`python -m bench.memory.world_updates`: what each statement of a person does to all of theirs before it.

The people of `bench.datasets.worlds`, without their questions. *updates*: pairs of which the newer replaces the older;
*retired*: of these; *wrongly retired*: other pairs of which the older is retired. `--show` prints what is not as it
should be, of the open half only.
"""

import argparse
import asyncio
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import combinations

from bench.datasets.worlds import PARTS, World, worlds
from bench.memory.formed_memories import formed_memories
from bench.memory.messy_pairs import is_retired

_BEGIN = date(2026, 1, 5)
_BETWEEN = timedelta(days=7)


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.world_updates", description=__doc__)
    options.add_argument("--show", action="store_true", help="print what is not as it should be, of the open half")
    is_shown = options.parse_args().show
    print("| half | updates | retired | other pairs | wrongly retired |\n|---|---:|---:|---:|---:|")
    for is_locked in (False, True):
        pairs = [pair for part in PARTS for world in worlds(locked=is_locked, part=part) for pair in _pairs(world)]
        updates = [is_right for is_update, is_right, _ in pairs if is_update]
        others = [is_right for is_update, is_right, _ in pairs if not is_update]
        counts = (len(updates), sum(updates), len(others), len(others) - sum(others))
        print(f"| {'locked' if is_locked else 'open'} | {' | '.join(map(str, counts))} |")
        for is_update, is_right, said in pairs if is_shown and not is_locked else ():
            if not is_right:
                print(f"    {'missed' if is_update else 'WRONG'}: {said}")


def _pairs(world: World) -> Iterator[tuple[bool, bool, str]]:
    """Yield of any two statements whether it is an update, whether it is judged rightly, and both."""
    memories = [
        asyncio.run(formed_memories([said], _BEGIN + _BETWEEN * at))[0] for at, said in enumerate(world.statements)
    ]
    updates = {(older, newer) for _, newer, older in world.replaced}
    for older, newer in combinations(range(len(memories)), 2):
        is_update = (older, newer) in updates
        said = f"{world.statements[older]} -> {world.statements[newer]}"
        yield is_update, is_retired(memories[older], memories[newer]) == is_update, said


if __name__ == "__main__":
    main()
