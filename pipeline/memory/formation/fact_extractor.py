"""Fact extraction from documents: always by rules, by a language model where one is configured."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.rule_based_extraction import MAX_FACTS_PER_DOCUMENT, CandidateFact, iter_facts
from pipeline.memory.grammar.worth import DEFAULT_MIN_WORTH
from pipeline.memory.versioning.fact_comparison import parse_valid_time
from pipeline.rows import NamespaceRow

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExtractionDelay:
    """Extraction is impossible for now: the reason, and the seconds until a retry."""

    reason: str
    retry_after_seconds: float


ExtractionResult = Sequence[CandidateFact] | ExtractionDelay


class FactExtractor(Protocol):
    """Extracts the facts of documents of one namespace."""

    async def extract(self, namespace: NamespaceRow, jobs: Sequence[ExtractionJob]) -> Sequence[ExtractionResult]:
        """Return for each document its facts, or why they are delayed. No text makes it fail."""
        ...


class RuleBasedExtractor:
    """Extracts by rules: offline and deterministic."""

    min_worth = DEFAULT_MIN_WORTH

    def __init__(self, min_worth: float = DEFAULT_MIN_WORTH) -> None:
        """`min_worth`: score from which a fact is kept."""
        self.min_worth = min_worth

    async def extract(
        self,
        namespace: NamespaceRow,  # noqa: ARG002 - rules know no namespace
        jobs: Sequence[ExtractionJob],
    ) -> Sequence[ExtractionResult]:
        """Return the facts of each document; nothing is ever delayed."""
        return [await self._extract_job(job) for job in jobs]

    async def _extract_job(self, job: ExtractionJob) -> list[CandidateFact]:
        # A sentence takes two milliseconds, and the first one loads the parser.
        facts = await asyncio.to_thread(extract_job_facts, job, self.min_worth)
        if len(facts) == MAX_FACTS_PER_DOCUMENT:
            warn_truncated(job)
        return facts


def extract_job_facts(job: ExtractionJob, min_worth: float = DEFAULT_MIN_WORTH) -> list[CandidateFact]:
    """Return the facts that the rules find in a document or a part of one."""
    return list(
        iter_facts(
            job.text,
            parse_valid_time(job.date, job.at).date(),
            is_date_assumed=job.date is None,
            document_type=job.type,
            is_synced=job.is_synced,
            min_worth=min_worth,
        )
    )


def warn_truncated(job: ExtractionJob) -> None:
    """Log that the document has more facts than are kept."""
    log.warning(
        "Document %s of %s: only its first %d facts become memories; all its chunks stay searchable",
        job.document,
        job.incarnation,
        MAX_FACTS_PER_DOCUMENT,
    )
