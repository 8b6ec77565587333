"""The fenced blocks of a guide, and the guide as one script that runs them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^```(?P<language>\w*)(?: (?P<note>[^\n]*))?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
RUNNABLE = frozenset({"sh", "python"})
SKIP = "no-run: "
OUTPUT = "output"
ANYTHING = "…"
SIMILARITY = re.compile(r"\b[01]\.\d\d\b")
_MARK = "=== block {at}"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: ```` ```sh ```` is run, ```` ```sh no-run: reason ```` is not.

    ```` ```text output ```` is what the block before it prints, where … stands for anything.
    """

    line: int
    language: str
    note: str
    text: str

    @property
    def runs(self) -> bool:
        """Whether it is run."""
        return self.language in RUNNABLE and not self.note.startswith(SKIP)

    @property
    def is_output(self) -> bool:
        """Whether it shows what the block before it prints."""
        return self.note == OUTPUT


def blocks(page: Path) -> list[Block]:
    """In the page's order."""
    text = page.read_text()
    return [
        Block(text.count("\n", 0, found.start()) + 1, found["language"], found["note"] or "", found["text"])
        for found in FENCE.finditer(text)
    ]


def script(found: Sequence[Block]) -> str:
    """One shell script of what runs, which tells where each block begins and ends at the first failure."""
    parts = ["set -euo pipefail"]
    for at, block in enumerate(found):
        if block.runs:
            run = block.text if block.language == "sh" else f"python - <<'PYTHON'\n{block.text}PYTHON\n"
            parts.append(f"echo '{_MARK.format(at=at)}'\n{run}")
    return "\n".join(parts)


def printed(output: str) -> dict[int, str]:
    """What each block printed, by its place."""
    pieces = re.split(r"^=== block (\d+)\n", output, flags=re.MULTILINE)
    return dict(zip(map(int, pieces[1::2]), pieces[2::2], strict=True))


def shows(wanted: str, got: str) -> bool:
    """Whether this is what was printed; spaces at the ends and how similar results are don't count."""
    pattern = ".*?".join(map(re.escape, _trimmed(wanted).split(ANYTHING)))
    return re.fullmatch(pattern, _trimmed(got), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    lines = (line.rstrip() for line in text.strip("\n").split("\n"))
    return SIMILARITY.sub("0.00", "\n".join(lines))
