"""Questions that ask for a kind of answer, and statements that tell it, in 22 languages; the last section has others.

What `python -m bench.answer_kinds` learns from; no collection that measures has one of
the statements; questions as short as "Where do I live?" stand in several.
"""

from pathlib import Path

_FILE = Path(__file__).parent / "kinds.txt"


def answer_kinds() -> list[tuple[list[str], list[str]]]:
    """Return the questions and the statements of each kind; last those of no kind."""
    sections = _FILE.read_text("utf-8").strip().split("\n\n")
    return [(_marked(section, "?"), _marked(section, "+")) for section in sections]


def _marked(section: str, mark: str) -> list[str]:
    return [line[2:] for line in section.split("\n") if line.startswith(mark)]
