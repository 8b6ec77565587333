"""Extraction of conversations' memories by a language model behind an OpenAI-compatible endpoint."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.resources import SystemClock
from bench.memory.conversations import Conversation
from bench.memory.coverage import Extracted, extracted_memory
from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.fact_extractor import ExtractionDelay
from pipeline.memory.formation.llm_extractor import LlmExtractor
from pipeline.memory.formation.rule_based_extraction import CandidateFact
from pipeline.models import open_language_model
from pipeline.ports import LanguageModel, Position, TokenUsage
from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from pipeline.settings import Settings
from schemas.ids import incarnation_key
from schemas.topics import E, Topic

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_INCARNATION = incarnation_key("bench", 0)
_NAMESPACE = NamespaceRow(name="bench", epoch=0, incarnations=(_INCARNATION,), created_at=_NOW, updated_at=_NOW)


@dataclass
class LlmCallStats:
    """Outcomes and costs of calls to the model."""

    outcomes: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0

    def __call__(self, outcome: str, spent: TokenUsage, _documents: int) -> None:
        """Count a call; see `LlmExtractor.on_outcome`."""
        self.outcomes[outcome] += 1
        self.input_tokens += spent.input_tokens
        self.output_tokens += spent.output_tokens
        self.seconds += spent.seconds

    def summary_line(self) -> str:
        """Summarize the calls; unusable answers were replaced by rules, so their figures are mixed."""
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return (
            f"Questions: {outcomes}; {self.input_tokens:,} tokens in, {self.output_tokens:,} out, "
            f"{self.seconds:,.0f} s of answers."
        )


async def extracted_by(
    url: str, name: str, found: Sequence[Conversation], stats: LlmCallStats
) -> list[list[Extracted]]:
    """Extract the memories of each conversation; SystemExit if the model does not answer.

    The key, if it wants one, is in RECOLLECT_LLM_API_KEY.
    """
    model = open_language_model(Settings(llm_base_url=url, llm_model=name))
    if model is None:
        raise SystemExit("--llm needs an address.")
    try:
        return [await _extracted(conversation, model, stats) for conversation in found]
    finally:
        await model.aclose()


async def _extracted(conversation: Conversation, model: LanguageModel, stats: LlmCallStats) -> list[Extracted]:
    extractor = LlmExtractor(
        model=model,
        catalog=_SingleNamespaceCatalog(),
        nearest_memories=_no_pending_work,
        publisher=_DiscardingPublisher(),
        clock=SystemClock(),
        input_tokens=Settings.model_fields["llm_input_tokens"].default,
        on_outcome=stats,
    )
    works = [
        ExtractionJob(_INCARNATION, str(number), number, _NOW, session.text, session.date)
        for number, session in enumerate(conversation.sessions)
    ]
    answers = await extractor.extract(_NAMESPACE, works)
    return [
        extracted_memory(conversation, number, draft) for number, facts in enumerate(answers) for draft in _found(facts)
    ]


def _found(facts: Sequence[CandidateFact] | ExtractionDelay) -> Sequence[CandidateFact]:
    if isinstance(facts, ExtractionDelay):
        raise SystemExit(f"The model does not answer: {facts.reason}")
    return facts


async def _no_pending_work(owner: NamespaceRow, works: Sequence[ExtractionJob]) -> list[MemoryRow]:  # noqa: ARG001 - nothing is known before
    return []


class _SingleNamespaceCatalog:
    """`ports.Catalog` with one namespace and default settings."""

    def namespace(self, name: str) -> NamespaceRow | None:
        return _NAMESPACE if name == _NAMESPACE.name else None

    def namespace_of(self, incarnation: str) -> NamespaceRow | None:
        return _NAMESPACE if incarnation == _INCARNATION else None

    def epoch(self, name: str) -> int:  # noqa: ARG002 - every name begins with its first life
        return 0

    def organization(self) -> OrganizationRow:
        return OrganizationRow()


class _DiscardingPublisher:
    """`ports.Publisher` that drops the usage events of extraction."""

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:  # noqa: ARG002
        return [Position(partition=0, offset=index) for index in range(len(entries))]
