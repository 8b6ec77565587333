"""`python -m bench.memory.short_statements`: how many short statements form the memory they should, and no other.

*formed*: a memory holds the words it should; *other*: there are only memories that do not; *wrong*: one is formed of
a question, a task or a heading. `--show` prints what is not as it should be, of the open half only.
"""

import argparse
from datetime import date
from typing import get_args

from bench.datasets.short_statements import StatementSet, short_statements
from pipeline.memory.formation.rule_based_extraction import extract_facts

_SAID_ON = date(2026, 11, 27)


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.short_statements", description=__doc__)
    options.add_argument("--show", action="store_true", help="print what is not as it should be, of the open half")
    chosen = options.parse_args()
    print("| half | statements | formed | other | none | no statements | wrong |\n|---|---:|---:|---:|---:|---:|---:|")
    for name in get_args(StatementSet):
        found = [
            (said, [fact.text for fact in extract_facts(said.document, _SAID_ON)]) for said in short_statements(name)
        ]
        stated = [(said, memories) for said, memories in found if said.expected]
        formed = sum(said.is_met_by(memories) for said, memories in stated)
        none = sum(not memories for _, memories in stated)
        wrong = sum(bool(memories) for said, memories in found if not said.expected)
        counts = (len(stated), formed, len(stated) - formed - none, none, len(found) - len(stated), wrong)
        print(f"| {name} | {' | '.join(map(str, counts))} |")
        for said, memories in found if chosen.show and name.endswith("open") else ():
            if not said.is_met_by(memories):
                print(f"    {said.document!r}: {memories}")


if __name__ == "__main__":
    main()
