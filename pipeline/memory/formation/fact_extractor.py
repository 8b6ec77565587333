"""Fact extraction from documents: always by rules, by a language model where one is configured."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.document_voice import may_be_users
from pipeline.memory.formation.rule_based_extraction import (
    MAX_FACTS_PER_DOCUMENT,
    CandidateFact,
    iter_facts,
    texts_with_meaning,
)
from pipeline.memory.grammar.worth.clause_worth import DEFAULT_MIN_WORTH
from pipeline.memory.languages.short_messages import UNKNOWN, Meanings, ShortMessages
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

    def __init__(self, min_worth: float = DEFAULT_MIN_WORTH, short_messages: ShortMessages | None = None) -> None:
        """`min_worth`: score from which a fact is kept; `short_messages` tells what short messages mean."""
        self._min_worth = min_worth
        self._short_messages = short_messages

    async def extract(
        self,
        namespace: NamespaceRow,  # noqa: ARG002 - rules know no namespace
        jobs: Sequence[ExtractionJob],
    ) -> Sequence[ExtractionResult]:
        """Return the facts of each document; nothing is ever delayed."""
        meanings = await self._meanings(jobs)
        return [await self._extract_job(job, meanings) for job in jobs]

    async def _meanings(self, jobs: Sequence[ExtractionJob]) -> Meanings:
        """Return what those texts mean that the user may have written, and the questions that they answer."""
        if self._short_messages is None:
            return UNKNOWN
        own = [job.text for job in jobs if may_be_users(job.type, is_synced=job.is_synced)]
        weighed = [texts_with_meaning(text) for text in own]
        return await self._short_messages.meanings(
            [*own, *(item for items, _ in weighed for item in items)],
            [question for _, questions in weighed for question in questions],
        )

    async def _extract_job(self, job: ExtractionJob, meanings: Meanings) -> list[CandidateFact]:
        # A sentence takes two milliseconds, and the first one loads the parser.
        facts = await asyncio.to_thread(extract_job_facts, job, self._min_worth, meanings)
        if len(facts) == MAX_FACTS_PER_DOCUMENT:
            warn_truncated(job)
        return facts


def extract_job_facts(
    job: ExtractionJob, min_worth: float = DEFAULT_MIN_WORTH, meanings: Meanings = UNKNOWN
) -> list[CandidateFact]:
    """Return the facts that the rules find in a document or a part of one; `meanings`: of its texts."""
    return list(
        iter_facts(
            job.text,
            parse_valid_time(job.date, job.at).date(),
            is_date_assumed=job.date is None,
            document_type=job.type,
            is_synced=job.is_synced,
            min_worth=min_worth,
            meanings=meanings,
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
