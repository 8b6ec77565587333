"""Questions of an assistant: `+` of somebody's life, whose answer is worth remembering, and `-` of the task at hand.

`python -m bench.personal_questions` learns from the open file.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent


def personal_questions(*, locked: bool) -> list[tuple[str, bool]]:
    """Return the questions of one file, and whether each is of somebody's life."""
    lines = (_FOLDER / ("locked.txt" if locked else "open.txt")).read_text("utf-8").splitlines()
    return [(line[2:], line[0] == "+") for line in lines if line[:2] in ("+ ", "- ")]
