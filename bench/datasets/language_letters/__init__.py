"""Everyday sentences in languages of which no other collection has many.

What `python -m bench.memory.language_letters` learns from beside other open data.
"""

from collections.abc import Iterator
from pathlib import Path


def told_in() -> Iterator[tuple[str, str]]:
    """Yield the sentences, each with the code of its language."""
    _, *sections = (Path(__file__).parent / "sentences.txt").read_text("utf-8").strip().split("\n\n")
    for section in sections:
        heading, *sentences = section.split("\n")
        yield from ((sentence, heading.removeprefix("# ")) for sentence in sentences)
