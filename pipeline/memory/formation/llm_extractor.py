"""Fact extraction by a language model, with rules for whatever it gives no usable answer to."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipeline.errors import EndpointUnavailableError, RetryableError
from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.extraction_prompt import ExtractedMemories, build_prompt, parse_answer
from pipeline.memory.formation.fact_extractor import (
    ExtractionDelay,
    ExtractionResult,
    extract_job_facts,
    warn_truncated,
)
from pipeline.memory.formation.prompt_batches import TextPart, plan_batches
from pipeline.memory.formation.rule_based_extraction import MAX_FACTS_PER_DOCUMENT, CandidateFact, deduplicate_facts
from pipeline.models.token_usage import publish_token_usage
from pipeline.ports import Catalog, Clock, LanguageModel, Publisher, TokenUsage, UnusableReplyError
from pipeline.rows import MemoryRow, NamespaceRow

log = logging.getLogger(__name__)

OVERHEAD_TOKENS = 1500
"""Tokens of the instructions, contexts and known memories."""
LOOKUP_RETRY_SECONDS = 5.0
"""Retry delay when known memories cannot be looked up."""

NearestMemoriesLookup = Callable[[NamespaceRow, Sequence[ExtractionJob]], Awaitable[Sequence[MemoryRow]]]
"""Returns memories that may relate to these documents, within what the documents may see."""
OutcomeListener = Callable[[str, TokenUsage, int], None]
"""Receives the outcome of a request (`formed`, `unusable`, `unavailable`), its token usage and its documents."""
ItemListener = Callable[[int, Mapping[str, int]], None]
"""Receives the numbers of memories kept of an answer, and of those left out by reason."""


@dataclass(frozen=True, slots=True)
class LlmExtractor:
    """Extracts facts with a language model. `input_tokens`: approximate size of one request."""

    model: LanguageModel
    catalog: Catalog
    nearest_memories: NearestMemoriesLookup
    publisher: Publisher
    clock: Clock
    input_tokens: int
    on_outcome: OutcomeListener = field(default=lambda _, __, ___: None)
    on_items: ItemListener = field(default=lambda _, __: None)

    async def extract(self, namespace: NamespaceRow, jobs: Sequence[ExtractionJob]) -> Sequence[ExtractionResult]:
        """Return for each document its facts, or a delay while the endpoint is unavailable."""
        plan = plan_batches(jobs, max(OVERHEAD_TOKENS, self.input_tokens - OVERHEAD_TOKENS))
        answers = await asyncio.gather(*(self._extract_batch(namespace, jobs, batch) for batch in plan.batches))
        facts: defaultdict[int, list[CandidateFact]] = defaultdict(list)
        delays: dict[int, ExtractionDelay] = {}
        for batch, answer in zip(plan.batches, answers, strict=True):
            if isinstance(answer, ExtractionDelay):
                delays |= dict.fromkeys((part.job_index for part in batch), answer)
                continue
            for job_index, fact in answer:
                facts[job_index].append(fact)
        for job_index, fact in await asyncio.to_thread(extract_parts_by_rules, jobs, plan.leftover_parts):
            facts[job_index].append(fact)
        return [
            delays[job_index] if job_index in delays else _deduplicate(job, facts[job_index])
            for job_index, job in enumerate(jobs)
        ]

    async def _extract_batch(
        self, namespace: NamespaceRow, jobs: Sequence[ExtractionJob], batch: Sequence[TextPart]
    ) -> list[tuple[int, CandidateFact]] | ExtractionDelay:
        batch_jobs = [(part, jobs[part.job_index]) for part in batch]
        try:
            known_memories = await self.nearest_memories(
                namespace, [replace(job, text=part.text) for part, job in batch_jobs]
            )
        except RetryableError as error:
            return ExtractionDelay(str(error), LOOKUP_RETRY_SECONDS)
        prompt = build_prompt(self.catalog.organization(), namespace, batch_jobs, known_memories)
        try:
            reply = await self.model.generate(prompt.instructions, prompt.text, ExtractedMemories)
        except EndpointUnavailableError as error:
            self.on_outcome("unavailable", TokenUsage(), 0)
            return ExtractionDelay(str(error), error.retry_after_seconds)
        except UnusableReplyError as error:
            log.warning("Using rules for %d parts of documents, the model's answer is unusable: %s", len(batch), error)
            await self._record_usage(namespace, batch, "unusable", error.usage)
            return await asyncio.to_thread(extract_parts_by_rules, jobs, batch)
        await self._record_usage(namespace, batch, "formed", reply.usage)
        parsed = parse_answer(reply.answer, batch_jobs, prompt.known_memories)
        self.on_items(len(parsed.facts), parsed.rejected)
        if parsed.rejected:
            log.info("Left out memories that the model gave: %s", dict(parsed.rejected))
        facts = [(job_index, replace(fact, extracted_by=self.model.name)) for job_index, fact in parsed.facts]
        kept = {job_index for job_index, _ in facts}
        left = [part for part in batch if not reply.is_complete or (parsed.rejected and part.job_index not in kept)]
        if left:
            log.warning("Rules read %d parts of documents whose answer was cut off or gave no usable memory", len(left))
            facts += await asyncio.to_thread(_extract_rest_by_rules, jobs, left, parsed.facts)
        return facts

    async def _record_usage(
        self, namespace: NamespaceRow, batch: Sequence[TextPart], outcome: str, token_usage: TokenUsage
    ) -> None:
        documents = len({part.job_index for part in batch})
        self.on_outcome(outcome, token_usage, documents)
        await publish_token_usage(
            self.publisher,
            namespace.incarnations[0],
            self.clock.now(),
            self.model.name,
            token_usage,
            purpose="memories",
            outcome="formed" if outcome == "formed" else "unusable",
            documents=documents,
        )


def extract_parts_by_rules(jobs: Sequence[ExtractionJob], parts: Sequence[TextPart]) -> list[tuple[int, CandidateFact]]:
    """Return the facts that the rules find in these parts, with their positions in the documents."""
    return [
        (part.job_index, replace(fact, start=_shift_offset(fact.start, part), end=_shift_offset(fact.end, part)))
        for part in parts
        for fact in extract_job_facts(replace(jobs[part.job_index], text=part.text))
    ]


def _extract_rest_by_rules(
    jobs: Sequence[ExtractionJob], batch: Sequence[TextPart], facts: Sequence[tuple[int, CandidateFact]]
) -> list[tuple[int, CandidateFact]]:
    """Return what the rules find behind the last passage that a model has quoted of each document."""
    ends: defaultdict[int, int] = defaultdict(int)
    for job_index, fact in facts:
        ends[job_index] = max(ends[job_index], fact.end or 0)
    found = extract_parts_by_rules(jobs, batch)
    return [(job_index, fact) for job_index, fact in found if fact.end is None or fact.end > ends[job_index]]


def _shift_offset(offset: int | None, part: TextPart) -> int | None:
    return None if offset is None else offset + part.start


def _deduplicate(job: ExtractionJob, facts: Sequence[CandidateFact]) -> list[CandidateFact]:
    """Drop facts that one part repeats from another, and those beyond the limit."""
    unique = list(deduplicate_facts(facts))
    if len(unique) > MAX_FACTS_PER_DOCUMENT:
        warn_truncated(job)
    return unique[:MAX_FACTS_PER_DOCUMENT]
