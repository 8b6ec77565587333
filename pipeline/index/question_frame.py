"""Frames of a question that say only that something is looked for: "tell me about Skiraum", "search for INV-20391"."""

import re
from functools import cache

from pipeline.text.word_lists import list_pattern, read_list


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
    frames = read_list("request_frames").split()
    anywhere = list_pattern(frames, as_written=True)
    at_end = list_pattern((frame for frame in frames if "_" in frame or frame[0] == "*"), as_written=True)
    return re.compile(rf"^\W*(?:please )?(?:{anywhere})|(?:{at_end})(?=\W*$)", re.IGNORECASE)
