"""Profiles of 36 small worlds, judged line by line: `python -m tests.pipeline.profile.profile_worlds_benchmark`.

Each world is the documents of one person with facts that its profile must show and words that it must not.
`judged.json` has the lines that somebody read, true where they belong into a prompt; lines that nobody read
yet are counted apart.
"""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.datasets import profiles
from pipeline.columns import to_microseconds
from pipeline.memory.formation.fact_extractor import RuleBasedExtractor
from pipeline.memory.languages.short_messages import ShortMessages
from pipeline.models import open_embedder
from pipeline.profile.bucket_classifier import NO_BUCKETS
from pipeline.profile.fact_relevance import lasting_file
from pipeline.profile.profile_sections import ProfileSnapshot, build_profile
from pipeline.profile.profile_state import ProfileState
from pipeline.rows import MemoryRow
from pipeline.vector_classifier import read_classifier
from tests.support.memory_harness import MemoryHarness

WORLDS = Path(profiles.__file__).parent


@dataclass(slots=True)
class ProfileScore:
    """Counts of one profile, or of several together."""

    lines: int = 0
    noise: int = 0
    unread: int = 0
    key_facts: int = 0
    shown_key_facts: int = 0
    forbidden: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, other: "ProfileScore") -> None:
        """Add the counts of another profile."""
        self.lines += other.lines
        self.noise += other.noise
        self.unread += other.unread
        self.key_facts += other.key_facts
        self.shown_key_facts += other.shown_key_facts
        self.forbidden += other.forbidden

    def as_row(self, name: str) -> str:
        """Return a row of the table."""
        read = self.lines - self.unread
        noise = f"{100 * self.noise / read:.0f} %" if read else "-"
        shown = f"{self.shown_key_facts} of {self.key_facts}"
        return f"| {name} | {self.lines} | {self.unread} | {noise} | {shown} | {len(self.forbidden)} |"


async def profile_of(world: dict[str, Any]) -> ProfileSnapshot:
    """Form the memories of a world's documents in order, and build the profile of its last day."""
    return await profile_of_rows((await write_documents(world["documents"])).memories.rows, world["now"])


async def write_documents(documents: Sequence[dict[str, Any]]) -> MemoryHarness:
    """Return a namespace with the memories of these documents, formed in order as the service forms them by default."""
    harness = MemoryHarness(RuleBasedExtractor(short_messages=ShortMessages(open_embedder("e5-encoder"))))
    for number, document in enumerate(documents):
        row = await harness.write_document(f"{number}", document["text"], date=f"{document['date']}T10:00:00Z")
        row = await harness.update_row(row, type=document.get("type", "text"))
        await harness.relate.handle(await harness.extract(row))
    return harness


async def profile_of_rows(rows: Sequence[MemoryRow], day: str) -> ProfileSnapshot:
    """Return what a profile of these memories shows on a day."""
    embedder = open_embedder("e5-encoder")
    vectors = await embedder.embed_documents([row.text for row in rows])
    state = ProfileState(NO_BUCKETS, read_classifier(lasting_file(embedder.name)))
    state.apply_changes([(row.id, replace(row, vector=vector)) for row, vector in zip(rows, vectors, strict=True)])
    now = datetime.fromisoformat(day).replace(tzinfo=UTC)
    return build_profile(state.facts.values(), [], to_microseconds(now) // 1000)


def score(world: dict[str, Any], lines: list[str], judged: dict[str, bool]) -> ProfileScore:
    """Compare the lines of a profile with what its world asks for."""
    missing = [
        " & ".join(parts)
        for parts in world["key"]
        if not any(all(re.search(part, line, re.IGNORECASE) for part in parts) for line in lines)
    ]
    return ProfileScore(
        lines=len(lines),
        noise=sum(judged.get(line) is False for line in lines),
        unread=sum(line not in judged for line in lines),
        key_facts=len(world["key"]),
        shown_key_facts=len(world["key"]) - len(missing),
        forbidden=[
            line for line in lines if any(re.search(rf"\b{word}\b", line, re.IGNORECASE) for word in world["never"])
        ],
        missing=missing,
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> None:
    """Print a table of the profiles, with `--lines` every line as well."""
    options = argparse.ArgumentParser(
        prog="python -m tests.pipeline.profile.profile_worlds_benchmark", description=__doc__
    )
    options.add_argument(
        "--split",
        choices=[
            "dev",
            "locked",
            "further, open",
            "further, locked",
            "third, open",
            "third, locked",
            "fourth, open",
            "fourth, locked",
        ],
    )
    options.add_argument("--lines", action="store_true", help="print every line with its judgement")
    chosen = options.parse_args()
    worlds = [
        world
        for name in ("worlds", "worlds_further", "worlds_third", "worlds_fourth")
        for world in json.loads((WORLDS / f"{name}.json").read_text())
    ]
    judged = json.loads((WORLDS / "judged.json").read_text())
    table, total = [], ProfileScore()
    for world in worlds:
        if chosen.split not in (None, world["split"]):
            continue
        snapshot = asyncio.run(profile_of(world))
        sections = {"static": snapshot.static, "dynamic": snapshot.dynamic}
        lines = [entry.text for entries in sections.values() for entry in entries]
        found = score(world, lines, judged.get(world["name"], {}))
        if chosen.lines:
            _print(f"\n# {world['name']}")
            for name, entries in sections.items():
                for entry in entries:
                    verdict = judged.get(world["name"], {}).get(entry.text)
                    _print(f"{'?' if verdict is None else '+' if verdict else '-'} {name}: {entry.text}")
            _print(f"missing: {found.missing}; forbidden: {found.forbidden}")
        table.append(found.as_row(world["name"]))
        total.add(found)
    _print("\n| world | lines | not read | noise | key facts | forbidden |\n|---|---:|---:|---:|---:|---:|")
    _print("\n".join([*table, total.as_row("**all**")]))


if __name__ == "__main__":
    main()
