"""`python -m bench.memory.languages`: how many statements in 22 languages form a memory, and how many questions do.

Statements: those of `bench/datasets/successions`. Questions: theirs and those of `bench/datasets/paraphrases`, with
and without their mark. None was written for these rules; what is missed in the open half, by hash, was mended.
"""

import argparse
import asyncio
from datetime import date
from itertools import chain

from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from bench.datasets.successions import successions
from bench.memory.formed_memories import formed_memories
from bench.ranking import is_locked

_SAID_ON = date(2026, 11, 27)
_MARKS = "?\uff1f\u061f;\u037e\u00bf "


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.languages", description=__doc__)
    options.add_argument("--show", action="store_true", help="print what is not as it should be, of the open half")
    chosen = options.parse_args()
    every = list(chain.from_iterable(successions()))
    statements = [text for pair in every for text in (pair.older, pair.newer)]
    questions = [pair.question for pair in every] + list(_questions())
    print("| half | statements | forming a memory | questions | forming one |\n|---|---:|---:|---:|---:|")
    for half, locked in (("open", False), ("locked", True)):
        said = [text for text in statements if is_locked(text) == locked]
        asked = [form for text in questions if is_locked(text) == locked for form in (text, text.strip(_MARKS))]
        memories = asyncio.run(formed_memories([*said, *asked], _SAID_ON))
        unformed = [text for text, found in zip(said, memories, strict=False) if not found]
        formed = [text for text, found in zip(asked, memories[len(said) :], strict=True) if found]
        print(f"| {half} | {len(said)} | {len(said) - len(unformed)} | {len(asked)} | {len(formed)} |")
        for text in (*unformed, *formed) if chosen.show and not locked else ():
            print(f"    {text}")


def _questions() -> list[str]:
    found: list[str] = []
    for language in (*LANGUAGES, *MORE_LANGUAGES):
        for locked in (False, True):
            part = paraphrases(language, locked=locked)
            found += [question for _, question in part.facts] + part.foreign
            found += [triple[2] for triple in (*part.updates, *part.others)]
    return found


if __name__ == "__main__":
    main()
