"""Frames of a question that say only that something is looked for: "tell me about Skiraum", "search for INV-20391"."""

import re
from functools import cache

from pipeline.index.question_perspective import LISTS, any_of


def without_frame(question: str) -> str:
    """Return what a question looks for; the question itself where its frame is all that it has.

    >>> without_frame("Tell me about Skiraum"), without_frame("What do you know about INV-20391?")
    ('Skiraum', 'INV-20391?')
    >>> without_frame("Skiraumについて教えて"), without_frame("Tell me about")
    ('Skiraum', 'Tell me about')
    >>> without_frame("What did Anna find?")
    'What did Anna find?'
    """
    rest = _pattern().sub(" ", question).strip()
    return rest if any(char.isalnum() for char in rest) else question


@cache
def _pattern() -> re.Pattern[str]:
    """Return a pattern of frames at the beginning of a question, and at its end where they are more than a word."""
    listed = (LISTS / "request_frames.txt").read_text("utf-8")
    after = " ".join(frame for frame in listed.split() if "_" in frame or frame.startswith("*"))
    return re.compile(rf"^\W*(?:please )?(?:{any_of(listed)})|(?:{any_of(after)})(?=\W*$)", re.IGNORECASE)
