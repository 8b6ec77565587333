"""Topics of somebody's life: questions for all of a topic, and statements that tell of it, in 22 languages.

What `python -m bench.life_topics` learns from; no collection that measures has one of the statements. A line has its
topics, or `none` for questions for one thing and statements that are of nobody's life.
"""

from collections.abc import Iterator
from pathlib import Path

_FOLDER = Path(__file__).parent


def topic_questions() -> list[tuple[str, frozenset[str]]]:
    """Return questions, each with the topic that it names, if it does."""
    return [(question, topics) for text, topics in _lines("queries") for question in text.split(" / ")]


def topic_statements() -> list[tuple[str, frozenset[str]]]:
    """Return statements, each with its topics."""
    return _lines("statements")


def told_in() -> Iterator[tuple[str, str]]:
    """Yield all of these texts, each with the code of its language."""
    for name in ("queries", "statements"):
        language = ""
        for line in (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
            if line.startswith("# "):
                language = line[2:]
            elif line:
                yield from ((text, language) for text in line.partition(" | ")[2].split(" / "))


def _lines(name: str) -> list[tuple[str, frozenset[str]]]:
    lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    parted = [line.partition(" | ") for line in lines if not line.startswith("#")]
    return [(text, frozenset(topics.split()) - {"none"}) for topics, _, text in parted]
