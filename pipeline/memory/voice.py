"""Who speaks, and when: what a sentence needs beside its words to become a fact."""

from dataclasses import dataclass
from datetime import date

WRITER = "User"
"""How the unknown writer of a document is called."""


@dataclass(frozen=True, slots=True)
class Voice:
    """`speaker` None: whoever wrote the document. `names`: all who speak in it.

    `today`: the day it was said, or, where that is `assumed`, the day it came in.
    """

    speaker: str | None = None
    chat: bool = False
    names: frozenset[str] = frozenset()
    today: date | None = None
    assumed: bool = False

    @property
    def who(self) -> str:
        """The name that stands for `I`."""
        return self.speaker or WRITER

    def day(self, *, personal: bool) -> date | None:
        """The day that "yesterday" is the day before. `personal`: it is said in the first person."""
        return self.today if self.chat or personal or not self.assumed else None
