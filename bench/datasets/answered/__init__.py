"""Statements with questions that they answer, questions that none answers, and a set that nothing is learned from.

`statements.txt` and `others.txt` are what `python -m bench.answer_bias` learns from: about people and about the world,
half of them in English, the rest in 21 other languages. `locked.txt` has six namespaces in a language each: statements
with a question, and after an empty line questions about something else.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent


def answered_statements() -> list[tuple[str, list[str]]]:
    """Return statements with their questions."""
    return _statements(_read("statements"))


def other_questions() -> list[str]:
    """Return questions that no statement answers."""
    return _read("others").split("\n")


def locked_namespaces() -> list[tuple[list[tuple[str, list[str]]], list[str]]]:
    """Return, for each namespace, statements with their questions and questions about something else."""
    parts = _read("locked").split("\n\n")
    return [(_statements(own), others.split("\n")) for own, others in zip(parts[::2], parts[1::2], strict=True)]


def _statements(text: str) -> list[tuple[str, list[str]]]:
    return [(statement, questions) for statement, *questions in (line.split(" | ") for line in text.split("\n"))]


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.txt").read_text("utf-8").strip()
