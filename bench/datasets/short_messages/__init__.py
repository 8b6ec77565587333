"""Short messages: `-` what is of the moment, in 22 languages, and `+` what is short and yet meant to be kept.

`python -m bench.short_messages` learns from the open file, beside the open halves of collections of statements.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent


def short_messages(*, locked: bool) -> list[tuple[str, bool]]:
    """Return the messages of one file, and whether each is meant to be kept."""
    lines = (_FOLDER / ("locked.txt" if locked else "open.txt")).read_text("utf-8").splitlines()
    return [(line[2:], line[0] == "+") for line in lines if line[:2] in ("+ ", "- ")]
