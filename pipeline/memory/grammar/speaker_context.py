"""Context of a sentence: its speaker and date."""

from dataclasses import dataclass
from datetime import date

from pipeline.text.utterance import TEAM

DEFAULT_SPEAKER = "User"
"""Name of a document's unknown writer."""


@dataclass(frozen=True, slots=True)
class SpeakerContext:
    """Speaker and date of an utterance.

    `speaker`: None for the document's writer. `is_speech`: the speaker speaks of themselves; False for a
    text about other things. `group`: who is meant by `we`. `meaning`: log-odds that people want
    such a message to be kept; 0: not known.
    `reference_date`: the day it was said or, if assumed, the day it arrived.
    """

    speaker: str | None = None
    is_chat: bool = False
    participants: frozenset[str] = frozenset()
    reference_date: date | None = None
    is_date_assumed: bool = False
    is_speech: bool = True
    group: str | None = None
    meaning: float = 0.0

    @property
    def is_group(self) -> bool:
        """True if minutes tell what was said."""
        return self.speaker == TEAM

    @property
    def is_written(self) -> bool:
        """True if a page, minutes or somebody's mail tell it, in sentences that are meant to be kept."""
        return self.is_group or (self.is_note and self.speaker is not None and not self.is_chat)

    @property
    def speaker_name(self) -> str:
        """The name that replaces `I`."""
        return self.speaker or DEFAULT_SPEAKER

    @property
    def addressee(self) -> str | None:
        """The other one, where two people talk."""
        others = self.participants - {self.speaker or ""}
        return next(iter(others)) if self.is_chat and len(others) == 1 and len(self.participants) > 1 else None

    @property
    def name_within(self) -> str:
        """The same within a sentence: the team is no proper name."""
        return TEAM.lower() if self.is_group else self.speaker_name

    @property
    def is_note(self) -> bool:
        """True if the speaker tells the service itself, and not other people."""
        return self.is_speech and (self.speaker is None or len(self.participants) < 2)

    def reference_date_for(self, *, is_first_person: bool) -> date | None:
        """Return the day that relative dates refer to. `is_first_person`: an assumed day applies."""
        return self.reference_date if self.is_chat or is_first_person or not self.is_date_assumed else None
