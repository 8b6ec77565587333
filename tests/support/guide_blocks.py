"""The fenced blocks of a guide, and the guide as one script that runs them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<language>\w*)(?: (?P<note>[^\n]*))?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
RUNNABLE = frozenset({"sh", "python"})
SKIP_PREFIX = "no-run: "
OUTPUT_NOTE = "output"
FILE_PREFIX = "file: "
WILDCARD = "…"
SIMILARITY_VALUE = re.compile(r"\b[01]\.\d\d\b")
_BLOCK_MARKER = "=== block {at}"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: ```` ```sh ```` is run, ```` ```sh no-run: reason ```` is not.

    ```` ```text output ```` is what the block before it prints, where … stands for anything.
    ```` ```python file: chat.py ```` is saved as that file.
    """

    line: int
    language: str
    note: str
    text: str

    @property
    def is_runnable(self) -> bool:
        """True if the block is run."""
        return self.language in RUNNABLE and not self.note.startswith(SKIP_PREFIX)

    @property
    def script(self) -> str:
        """Shell script that runs the block, or saves it as its file."""
        if self.note.startswith(FILE_PREFIX):
            return f"cat > {self.note.removeprefix(FILE_PREFIX)} <<'SAVED'\n{self.text}SAVED\n"
        return self.text if self.language == "sh" else f"python - <<'PYTHON'\n{self.text}PYTHON\n"

    @property
    def is_output(self) -> bool:
        """True if the block shows the output of the block before it."""
        return self.note == OUTPUT_NOTE


def parse_blocks(page: Path) -> list[Block]:
    """Parse a page's blocks, in order."""
    text = page.read_text()
    return [
        Block(text.count("\n", 0, found.start()) + 1, found["language"], found["note"] or "", found["text"])
        for found in FENCE.finditer(text)
    ]


def to_shell_script(found: Sequence[Block]) -> str:
    """Shell script of the blocks that run, which tells where each begins and ends at the first failure."""
    parts = ["set -euo pipefail"]
    for at, block in enumerate(found):
        if block.is_runnable:
            # On a line of its own, whatever the block before printed last.
            parts.append(f"printf '\\n%s\\n' '{_BLOCK_MARKER.format(at=at)}'\n{block.script}")
    return "\n".join(parts)


def output_by_block(output: str) -> dict[int, str]:
    """Output of each block, by its line number."""
    pieces = re.split(r"^=== block (\d+)\n", output, flags=re.MULTILINE)
    return dict(zip(map(int, pieces[1::2]), pieces[2::2], strict=True))


def matches_output(expected: str, got: str) -> bool:
    """True if the output matches; incarnations of namespaces and similarities of results don't count."""
    pattern = ".*?".join(map(re.escape, _normalize_output(expected).split(WILDCARD)))
    return re.fullmatch(pattern, _normalize_output(got), re.DOTALL) is not None


def _normalize_output(text: str) -> str:
    lines = (line.rstrip() for line in text.strip("\n").split("\n"))
    return SIMILARITY_VALUE.sub("0.00", "\n".join(lines))
