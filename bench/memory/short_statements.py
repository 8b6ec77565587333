"""`python -m bench.memory.short_statements`: how many facts of short statements form a memory, and what else does.

*formed*: a memory holds the words of the fact; *other*: there are only memories that do not; *wrong*: documents of
which a memory states what it must not: a question, a task, a heading, a fact of somebody else. `--show` prints what
is not as it should be, of the open half only.
"""

import argparse
import asyncio
from datetime import date
from typing import get_args

from bench.datasets.short_statements import SYNCED, StatementSet, short_statements
from bench.memory.formed_memories import formed_memories

_SAID_ON = date(2026, 11, 27)


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.short_statements", description=__doc__)
    options.add_argument("--show", action="store_true", help="print what is not as it should be, of the open half")
    chosen = options.parse_args()
    print("| half | facts | formed | other | none | could be wrong | wrong |\n|---|---:|---:|---:|---:|---:|---:|")
    for name in get_args(StatementSet):
        documents = list(short_statements(name))
        texts = [said.document for said in documents]
        memories_of = asyncio.run(formed_memories(texts, _SAID_ON, is_synced=name in SYNCED))
        found = list(zip(documents, memories_of, strict=True))
        stated = sum(len(said.facts) for said, _ in found)
        formed = sum(said.facts_met_by(memories) for said, memories in found)
        none = sum(len(said.facts) for said, memories in found if not memories)
        risky = [said.is_wronged_by(memories) for said, memories in found if said.forbidden or not said.facts]
        counts = (stated, formed, stated - formed - none, none, len(risky), sum(risky))
        print(f"| {name} | {' | '.join(map(str, counts))} |")
        for said, memories in found if chosen.show and name.endswith("open") else ():
            if not said.is_met_by(memories):
                print(f"    {said.document!r}: {memories}")


if __name__ == "__main__":
    main()
