"""`python -m bench.memory.read_lists`: memories that somebody has read, and how many of them are good.

Good is what is true, self-contained, worth keeping and rightly attributed. Memories are formed anew of the material;
a sample in the order of their hashes is compared with the judgements beside it: `+` good, `-` not. What nobody has
read yet is counted as such, and printed with `--unread`. LoCoMo is not shipped: `--data` names its folder, and its
memories are kept as hashes only.
"""

import argparse
from collections.abc import Iterable, Iterator
from datetime import date
from hashlib import sha256
from pathlib import Path

from bench.memory.conversations import conversations
from bench.recall import DATA
from pipeline.memory.formation.rule_based_extraction import extract_facts

FOLDER = Path(__file__).parent.parent / "datasets" / "read_lists"
SAMPLES = {"kinds": 150, "messages": 100, "assistant": 60, "mails": 60, "shapes": 60, "locomo": 150}
_READ_ON = date(2026, 11, 23)
_HASH_CHARS = 12


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.read_lists", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of LoCoMo")
    options.add_argument("--unread", action="store_true", help="print the memories that nobody has read")
    chosen = options.parse_args()
    print("| material | memories | sample | read | good | % |\n|---|---:|---:|---:|---:|---:|")
    for kind, size in SAMPLES.items():
        for half in ("open", "locked"):
            name = f"{kind}-{half}"
            memories = list(_memories(name, chosen.data))
            if memories:
                _print_rate(name, memories, size, show=chosen.unread)


def _print_rate(name: str, memories: list[str], size: int, *, show: bool) -> None:
    sample = sorted(memories, key=memory_hash)[:size]
    judged = judgements(name)
    read = [judged[key] for memory in sample if (key := memory_hash(memory)) in judged]
    share = 100 * sum(read) / len(read) if read else 0.0
    print(f"| {name} | {len(memories)} | {len(sample)} | {len(read)} | {sum(read)} | {share:.0f} |")
    for memory in sample if show else ():
        if memory_hash(memory) not in judged:
            print(f"    {memory_hash(memory)} {memory}")


def memory_hash(memory: str) -> str:
    """Return what stands for a memory in the lists."""
    return sha256(memory.encode()).hexdigest()[:_HASH_CHARS]


def judgements(name: str) -> dict[str, bool]:
    """Return whether each memory that was read is good, by its hash."""
    path = FOLDER / f"{name}.judged"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return {line[2 : 2 + _HASH_CHARS]: line[0] == "+" for line in lines if line[:2] in ("+ ", "- ")}


def _memories(name: str, data: Path) -> Iterator[str]:
    if name.startswith("locomo"):
        yield from _conversation_memories(name, data / "locomo-dev.json")
        return
    for document in (FOLDER / f"{name}.txt").read_text("utf-8").strip().split("\n---\n"):
        yield from (fact.text for fact in extract_facts(document, _READ_ON))


def _conversation_memories(name: str, path: Path) -> Iterable[str]:
    """Return the memories of two conversations for each half."""
    found = conversations(path) if path.is_file() else []
    for conversation in found[:2] if name.endswith("open") else found[2:]:
        for session in conversation.sessions:
            yield from (fact.text for fact in extract_facts(session.text, date.fromisoformat(session.date[:10])))


if __name__ == "__main__":
    main()
