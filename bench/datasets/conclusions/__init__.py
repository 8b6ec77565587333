"""Pairs of memories and what follows from both together."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Pair:
    """Conclusion that a human reader draws from both memories; None if nothing certain follows."""

    conclusion: str | None
    first: str
    second: str


def pairs(half: Literal["open", "locked"]) -> list[Pair]:
    """All pairs of one half."""
    return list(_read(_FOLDER / f"{half}.txt"))


def _read(path: Path) -> Iterator[Pair]:
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            conclusion, first, second = (part.strip() for part in line.split("|"))
            yield Pair(None if conclusion == "-" else conclusion, first, second)
