"""What people say of their lives and what changes it later, in fourteen languages: who left whom, what was sold.

A line is locked or open by a hash; nothing was chosen on the locked ones.
"""

import hashlib
from pathlib import Path

from bench.datasets.successions import Succession, succession_of

_FILE = Path(__file__).parent / "pairs.txt"


def changed_lives() -> list[list[tuple[Succession, bool]]]:
    """Return the pairs, each with whether it is locked: a list for each language."""
    sections = _FILE.read_text("utf-8").strip().split("\n\n")
    return [[(succession_of(line), _is_locked(line)) for line in section.split("\n")] for section in sections]


def _is_locked(line: str) -> bool:
    return bool(hashlib.sha256(line.encode()).digest()[0] & 1)
