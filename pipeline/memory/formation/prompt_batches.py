"""Batches of documents for a language model: related ones together, long ones split into parts. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.document_voice import may_be_users

MAX_PARTS_PER_DOCUMENT = 12
"""Parts of one document sent to the model; the rest of a book is left to the rules."""
BYTES_PER_TOKEN = 3
"""Conservative UTF-8 bytes per token: English has about four, Japanese about three."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of the text of `jobs[job_index]`, beginning at character `start`."""

    job_index: int
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Batches of parts for the model, and parts left to the rules."""

    batches: Sequence[Sequence[TextPart]]
    leftover_parts: Sequence[TextPart]


def plan_batches(jobs: Sequence[ExtractionJob], max_tokens: int) -> BatchPlan:
    """Group documents with equal `group` in their order, as many as fit into `max_tokens`.

    What others may have written shares no prompt with what the user said: it could tell the model to answer for both.
    """
    batches: list[list[TextPart]] = []
    leftover_parts: list[TextPart] = []
    bytes_left: dict[str, int] = {}
    open_batches: dict[str, list[TextPart]] = {}
    budget = max(1, max_tokens * BYTES_PER_TOKEN)
    for job_index, job in enumerate(jobs):
        key = json.dumps([job.group, may_be_users(job.type, is_synced=job.is_synced)], sort_keys=True)
        for number, part in enumerate(split_text(job_index, job.text, budget)):
            if number == MAX_PARTS_PER_DOCUMENT:
                leftover_parts.append(TextPart(job_index, part.start, job.text[part.start :]))
                break
            size = len(part.text.encode(errors="replace"))
            if key not in open_batches or size > bytes_left[key]:
                open_batches[key], bytes_left[key] = [], budget
                batches.append(open_batches[key])
            open_batches[key].append(part)
            bytes_left[key] -= size
    return BatchPlan(batches, leftover_parts)


def split_text(job_index: int, text: str, max_bytes: int) -> Iterator[TextPart]:
    """Yield pieces of at most `max_bytes`, cut between lines or sentences where possible."""
    start = 0
    while start < len(text):
        end = _end_within_bytes(text, start, max_bytes)
        if end < len(text):
            end = _split_position(text, start, end)
        if text[start:end].strip():
            yield TextPart(job_index, start, text[start:end])
        start = end


def _end_within_bytes(text: str, start: int, max_bytes: int) -> int:
    """Return the end of the longest piece within `max_bytes`, at least one character."""
    piece = text[start : start + max_bytes].encode(errors="replace")[:max_bytes]
    return start + max(1, len(piece.decode(errors="ignore")))


def _split_position(text: str, start: int, end: int) -> int:
    """Return the last good place to cut in the second half of a piece."""
    middle = (start + end) // 2
    for separator in ("\n\n", "\n", ". ", " "):
        if (position := text.rfind(separator, middle, end)) >= 0:
            return position + len(separator)
    return end
