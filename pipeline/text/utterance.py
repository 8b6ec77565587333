"""A piece of text and who says it."""

from dataclasses import dataclass
from datetime import date

TEAM = "The team"
"""Speaker of what is said in minutes by nobody who is named."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A piece of text and who says it. `speaker` None: whoever wrote the document.

    `start` is the offset of `text` in the document; None where the document holds it in another form.
    `said_on`: the day it was said, where the document tells. `asked`: what an assistant said just before it.
    """

    speaker: str | None
    text: str
    start: int | None
    is_chat: bool = False
    said_on: date | None = None
    asked: str | None = None
