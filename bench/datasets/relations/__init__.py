"""Pairs of memories and what the newer is to the older."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Verdict = Literal["updates", "extends", "same", "unrelated"]
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Pair:
    """Human judgement of how the newer memory relates to the older."""

    verdict: Verdict
    old: str
    new: str


def pairs(half: Literal["open", "locked", "details"]) -> list[Pair]:
    """All pairs of one half; `details` are more of the open one, of what shares a word."""
    return list(_read(_FOLDER / f"{half}.txt"))


def _read(path: Path) -> Iterator[Pair]:
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            verdict, old, new = (part.strip() for part in line.split("|"))
            if verdict not in ("updates", "extends", "same", "unrelated"):
                message = f"{path.name} has the relation {verdict!r}"
                raise ValueError(message)
            yield Pair(verdict, old, new)  # type: ignore[arg-type]  # looked at above
