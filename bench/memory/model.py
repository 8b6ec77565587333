"""What a language model remembers of conversations, behind any OpenAI-compatible endpoint."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bench.memory.conversations import Conversation
from bench.memory.coverage import Extracted, memory
from pipeline.inference import open_model
from pipeline.memory.by_model import ByModel
from pipeline.memory.drafts import Draft
from pipeline.memory.extraction import Delay
from pipeline.memory.writing import Work
from pipeline.ports import LanguageModel, Spent
from pipeline.rows import MemoryRow, NamespaceRow
from pipeline.settings import Settings
from tests.fakes import FakeCatalog, FixedClock, RecordingPublisher

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Told:
    """How questions ended, and what they cost."""

    outcomes: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0

    def __call__(self, outcome: str, spent: Spent) -> None:
        """As `ByModel.told`."""
        self.outcomes[outcome] += 1
        self.input_tokens += spent.input_tokens
        self.output_tokens += spent.output_tokens
        self.seconds += spent.seconds

    def line(self) -> str:
        """For people. Of what was unusable, rules found the facts: then the figures are a mixture."""
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return (
            f"Questions: {said}; {self.input_tokens:,} tokens in, {self.output_tokens:,} out, "
            f"{self.seconds:,.0f} s of answers."
        )


async def extracted_by(
    url: str, name: str, found: Sequence[Conversation], told: Told
) -> list[list[Extracted]]:
    """Of each conversation what the model makes of it; SystemExit where it does not answer.

    The key, if it wants one, is in RECOLLECT_LLM_API_KEY.
    """
    model = open_model(base_url=url, model=name, api_key=os.environ.get("RECOLLECT_LLM_API_KEY"))
    if model is None:
        raise SystemExit("--llm needs an address.")
    try:
        return [await _extracted(one, model, told) for one in found]
    finally:
        await model.aclose()


async def _extracted(one: Conversation, model: LanguageModel, told: Told) -> list[Extracted]:
    catalog = FakeCatalog()
    owner = catalog.create("bench")
    by = ByModel(
        model=model,
        catalog=catalog,
        nearby=_nothing,
        publisher=RecordingPublisher(),
        clock=FixedClock(),
        input_tokens=Settings.model_fields["llm_input_tokens"].default,
        told=told,
    )
    works = [
        Work(owner.spaces[0], str(number), number, _NOW, session.text, session.date)
        for number, session in enumerate(one.sessions)
    ]
    answers = await by.facts(owner, works)
    return [memory(one, number, draft) for number, facts in enumerate(answers) for draft in _found(facts)]


def _found(facts: Sequence[Draft] | Delay) -> Sequence[Draft]:
    if isinstance(facts, Delay):
        raise SystemExit(f"The model does not answer: {facts.reason}")
    return facts


async def _nothing(owner: NamespaceRow, works: Sequence[Work]) -> list[MemoryRow]:  # noqa: ARG001 - nothing is known before
    return []
