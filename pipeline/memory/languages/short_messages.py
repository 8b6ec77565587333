"""Short messages: whether they mean what people want to be remembered, learned from examples.

In a chat most is of the moment. Who sends the service a statement or two means it to be kept, unless it is a
greeting, a reaction, a task or a remark on the day; in most languages no rule tells these from each other.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.ports import Embedder
from pipeline.vector_classifier import VectorClassifier, read_classifier

_MAX_CHARS = 160
_MAX_SENTENCES = 2
_END_OF_SENTENCE = re.compile("[.!?\u061f\u0964]+(?=\\s)|[\u3002\uff01\uff1f]+(?=.)")
_EXCLAIMS_OR_ASKS = re.compile("[!?\u061f\uff01\uff1f]")
"""What is no statement, and kept by rules only."""
MEMORABLE = 0.5
"""Log-odds from which a short message is kept in a language without a parser: of what weights were not learned from
86 of 100 facts of anybody, 94 of 100 statements of people, and two of 100 other messages."""
SURELY_MEMORABLE = 1.5
"""The same where a parser says what is worth keeping, which is then worth more."""
MEMORABLE_WITHOUT_VERB = 2.0
"""The same of what has no verb, such as `nut allergy here`, and has to say by its meaning alone that it lasts."""
OF_THE_MOMENT = -1.0
"""Log-odds below which nothing is kept that says nothing comparable: three of 100 facts of anybody, one of 100
statements."""


def messages_file(embedder_name: str) -> Path:
    """Return where an embedder's weights lie, if they do; `python -m bench.short_messages` writes them."""
    return Path(__file__).parent / f"messages_{embedder_name.replace(' ', '_')}.npy"


def questions_file(embedder_name: str) -> Path:
    """Return the same of what is asked; `python -m bench.personal_questions` writes them."""
    return Path(__file__).parent / f"questions_{embedder_name.replace(' ', '_')}.npy"


def is_short_message(text: str) -> bool:
    """Return whether a text is no more than a statement or two.

    >>> is_short_message("The cat is called Biscuit."), is_short_message("Hi! " * 3)
    (True, False)
    """
    plain = text.strip()
    if not 0 < len(plain) <= _MAX_CHARS or "\n" in plain:
        return False
    return len(_END_OF_SENTENCE.findall(plain)) < _MAX_SENTENCES


@dataclass(frozen=True, slots=True)
class Meanings:
    """Log-odds that people want each text to be kept (`kept`), and that each question is of their life (`asked`)."""

    kept: Mapping[str, float] = field(default_factory=dict)
    asked: Mapping[str, float] = field(default_factory=dict)

    def message(self, text: str) -> float:
        """Return the log-odds that a text is meant to be kept; 0 if that is not known."""
        return self.kept.get(text, 0.0)

    def is_of_life(self, question: str) -> bool:
        """Return whether a question is known to be of the life of whom an assistant asks."""
        return self.asked.get(question, -1.0) > 0


UNKNOWN = Meanings()


class ShortMessages:
    """Classifiers of short messages, and of questions to their writer, by an embedder's vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: VectorClassifier = read_classifier(messages_file(embedder.name))
        self._asked: VectorClassifier = read_classifier(questions_file(embedder.name))

    async def log_odds(self, texts: Sequence[str]) -> list[float]:
        """Return the log-odds that people want each to be kept; 0 for a longer text, and with an unknown embedder."""
        found = await self._known(self._kept, [text for text in texts if is_short_message(text)])
        return [
            min(log_odds, 0.0) if _EXCLAIMS_OR_ASKS.search(text) else log_odds
            for text in texts
            for log_odds in (found.get(text, 0.0),)
        ]

    async def meanings(self, texts: Sequence[str], questions: Sequence[str]) -> Meanings:
        """Return what texts and an assistant's questions mean."""
        kept = await self.log_odds(texts)
        return Meanings(dict(zip(texts, kept, strict=True)), await self._known(self._asked, questions))

    async def _known(self, classifier: VectorClassifier, texts: Sequence[str]) -> dict[str, float]:
        distinct = list(dict.fromkeys(texts)) if len(classifier.weights) else []
        found = classifier.log_odds_of(await self._embedder.embed_documents(distinct)) if distinct else []
        return dict(zip(distinct, found, strict=True))
