"""Facts of one person in several languages, as messages are written, each with questions in other words.

A third of the questions ask when or how many. After an empty line follow questions about something else. Each file is
one namespace; nothing was chosen on `locked.txt`.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent


def mixed_facts(*, locked: bool) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Facts with their questions, and questions about something else, of the locked or the open namespace."""
    text = (_FOLDER / f"{'locked' if locked else 'open'}.txt").read_text("utf-8").strip()
    facts, foreign = (part.split("\n") for part in text.split("\n\n"))
    return [(fact, questions) for fact, *questions in (line.split(" | ") for line in facts)], foreign
