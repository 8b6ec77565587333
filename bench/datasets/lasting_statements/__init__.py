"""Memories in 22 languages: `+` what still holds after half a year unless it changes, `-` what is over by then.

What `python -m bench.lasting_statements` learns from. Two thirds are what the open halves of other collections form.
"""

from pathlib import Path

_FILE = Path(__file__).parent / "statements.txt"


def lasting_statements() -> list[tuple[str, bool]]:
    """Return the statements, and whether each lasts."""
    return [(line[2:], line[0] == "+") for line in _FILE.read_text("utf-8").splitlines()]
